import ArgumentParser
import CommandSupport

/// `--listen`, of commands that serve HTTP.
struct ListenOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where to serve HTTP, instead of admin.listen: 127.0.0.1:8080; port 0 picks one.", valueName: "address:port"))
  var listen: String?

  /// Where to listen: what was said here, or else what the configuration says.
  ///
  /// - Parameter standard: where neither says anything.
  /// - Returns: `nil` without any of them: then no port is opened.
  func address(_ configuration: CarillonConfiguration, standard: String? = nil) throws -> ListenAddress? {
    if let listen {
      guard let address = ListenAddress(listen) else {
        throw CommandError(
          .usage, "--listen: \(listen) is not ADDRESS:PORT", hint: "the address in numbers: 127.0.0.1:8080, [::1]:8080"
        )
      }
      return address
    }
    return configuration.admin?.listen ?? standard.flatMap(ListenAddress.init)
  }
}
