import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// `carillon users`.
struct UsersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "users", abstract: "Forgets users.", subcommands: [Forget.self])
}
