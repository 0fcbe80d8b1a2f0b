import ArgumentParser

/// `carillon admin`.
struct AdminCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin", abstract: "Serves the API, the page and the fleet's metrics; makes tokens for them.",
    subcommands: [AdminServe.self, AdminToken.self], defaultSubcommand: AdminServe.self)
}
