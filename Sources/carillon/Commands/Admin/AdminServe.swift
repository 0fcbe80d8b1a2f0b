import Admin
import ArgumentParser
import CommandSupport

/// `carillon admin`.
struct AdminServe: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Serves the API, the page and the fleet's metrics, until SIGTERM.")

  @OptionGroup var global: GlobalOptions
  @OptionGroup var endpoint: ListenOption

  func run() async throws {
    let signals = StopSignals()
    let configuration = try global.loadConfiguration()
    guard let admin = try endpoint.admin(configuration) else {
      throw CommandError(
        .configuration, "admin.listen is missing", hint: "say where: admin: { listen: 127.0.0.1:8080 }, or --listen")
    }
    let served = try AdminEndpoint(admin, [], needsTokens: true)
    for await _ in signals.numbers { break }
    await served.stop()
  }
}
