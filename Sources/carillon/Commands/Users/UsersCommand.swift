import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// `carillon users`.
struct UsersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "users", abstract: "Forgets users.", subcommands: [Forget.self])

  /// `carillon users forget`.
  struct Forget: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes everything of a user everywhere; exits 1 when there was nothing.",
      discussion: """
        Devices, attributes, segments and suppression lists, what users did with campaigns, plain results, entries of \
        the feedback list. What ledgers have of pushes that were sent stays until the ttl of their campaigns has passed. \
        There is no way back; doing it again does no harm.

        Example:
          carillon users forget 4711 --yes
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The user's id.") var user: String
    @Flag(help: "Don't ask.") var yes = false

    func run() async throws {
      let user = try UserArgument.read(user)
      let store = try await global.openStore(changing: true)
      try Confirmation.obtain(
        yes, for: "this removes everything of \(Excerpt.quoted(user)) for good", refusal: "nothing was removed")
      let forgotten = try await store.forget(user)
      guard !forgotten.isNothing else {
        throw CommandError(.notFound, "there is no user \(Excerpt.quoted(user))", hint: "nothing was there to remove")
      }
      await store.note(forgotten: forgotten, by: .commandLine)
      let report = ForgottenReport(user: user, forgotten: forgotten)
      try StandardOutput.printLine(global.json ? report.json : report.text)
    }
  }
}
