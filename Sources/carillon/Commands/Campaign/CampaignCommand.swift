import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// `carillon campaign`.
struct CampaignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "campaign",
    abstract: "Submits, shows and controls campaigns.",
    subcommands: [Submit.self, Show.self, List.self, Watch.self, Pause.self, Resume.self, Cancel.self])
}

extension CampaignStore {
  /// The error for an id without a campaign, which says where its job is if it is known.
  func whereIs(_ id: String) async throws -> CommandError {
    if let burial = try await burial(of: id) {
      return CommandError(
        .notFound, "campaign \(Excerpt.quoted(id)) could not be run: \(burial.reason)",
        hint: (burial.hint.isEmpty ? "" : burial.hint + "; ") + "see its job: carillon dead show \(burial.key)")
    }
    if try await isKnown(id) {
      return CommandError(
        .notFound, "campaign \(Excerpt.quoted(id)) is in the queue: no worker has taken it in",
        hint: "start one: carillon worker")
    }
    return CommandError(noSuchCampaign(id))
  }
}
