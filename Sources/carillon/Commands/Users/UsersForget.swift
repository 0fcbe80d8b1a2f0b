import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension UsersCommand {
  /// `carillon users forget`.
  struct Forget: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes everything of a user everywhere; exits 1 when there was nothing.",
      discussion: """
        Removes devices, attributes, segments, suppression lists, receipts, results and entries of the feedback list, and \
        the user's targets in running and ended campaigns. Counters stay as they are. If a worker is reading users into a \
        campaign, housekeeping completes the erasure; the output says by when. This can't be undone; repeating it is safe.

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
      let forgotten = try await store.erasure.forget(user)
      guard !forgotten.isNothing else {
        throw CommandError(.notFound, "there is no user \(Excerpt.quoted(user))", hint: "nothing was there to remove")
      }
      await AuditTrail(store).note(forgotten: forgotten, by: .commandLine)
      let report = ForgottenReport(user: user, forgotten: forgotten)
      try StandardOutput.printLine(global.json ? report.json : report.text)
    }
  }
}
