import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// The command `carillon users`.
struct UsersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "users", abstract: "Erase users.", subcommands: [Erase.self])
}
