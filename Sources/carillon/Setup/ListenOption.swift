import ArgumentParser
import CommandSupport

/// The option `--listen` of commands with an HTTP server.
struct ListenOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The address of the HTTP server, such as 127.0.0.1:8080; port 0 selects a free port (default: admin.listen).",
      valueName: "address:port"))
  var listen: String?

  /// Returns the address of the server: the value of the option, or otherwise the address in the configuration.
  ///
  /// - Parameter standard: the default if neither the option nor the configuration has an address.
  /// - Returns: `nil` if no address is set. In this case, the command opens no port.
  func address(_ configuration: CarillonConfiguration, standard: String? = nil) throws -> ListenAddress? {
    if let listen {
      guard let address = ListenAddress(listen) else {
        throw CommandError(
          .usage, "--listen: \(listen) is not ADDRESS:PORT", hint: "use a numeric address: 127.0.0.1:8080, [::1]:8080"
        )
      }
      return address
    }
    return configuration.admin?.listen ?? standard.flatMap(ListenAddress.init)
  }
}
