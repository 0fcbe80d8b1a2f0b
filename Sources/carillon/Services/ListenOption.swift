import ArgumentParser
import CommandSupport

/// `--listen`, of commands that serve HTTP.
struct ListenOption: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where to serve HTTP, instead of admin.listen: 127.0.0.1:8080; port 0 picks one.", valueName: "address:port"))
  var listen: String?

  /// The section `admin` of the configuration, with what was said here in its place.
  ///
  /// - Returns: `nil` where neither says anything: then no port is opened.
  func admin(_ configuration: CarillonConfiguration) throws -> CarillonConfiguration.Admin? {
    guard let listen else { return configuration.admin }
    guard let address = ListenAddress(listen) else {
      throw CommandError(
        .usage, "--listen: \(listen) is not ADDRESS:PORT", hint: "the address in numbers: 127.0.0.1:8080, [::1]:8080")
    }
    var admin = configuration.admin ?? CarillonConfiguration.Admin(listen: address)
    admin.listen = address
    return admin
  }
}
