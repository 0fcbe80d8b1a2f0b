import ArgumentParser

/// The command `carillon admin`.
struct AdminCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin", abstract: "Serve the API, the dashboard and the fleet's metrics; create access tokens.",
    subcommands: [AdminServe.self, AdminToken.self], defaultSubcommand: AdminServe.self)
}
