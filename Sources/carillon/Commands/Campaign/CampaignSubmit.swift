import ArgumentParser
import CampaignStore
import PushCore

extension CampaignCommand {
  /// `carillon campaign submit`.
  struct Submit: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Checks a job and puts it into the queue; prints its id.",
      discussion: """
        The same job again changes nothing. Another job under a used id is a conflict (exit 65).

        Examples:
          carillon campaign submit job.json
          echo '{"id":"hello-1","app":"news","audience":{"segment":"vip & !churned"},
                 "payload":{"aps":{"alert":"Hello"}}}' | carillon campaign submit -
        """)

    /// What is read at most: beyond the largest job, so that the error can say by how much it is too large.
    private static let readLimit = 64 * CampaignJob.maximumSize

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The job, JSON; - is standard input.", completion: .file(extensions: ["json"]))
    var file: String

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let job = try InputFile.contents(file, limit: Self.readLimit)
      let campaign = try CampaignJob.parse(job, knownApps: Set(configuration.apps.keys))
      let store = try await StoreConnection(configuration.redis).open()
      if case .segment(let expression) = campaign.audience { try await store.checkSegments(of: expression) }
      let admission = try await store.submit(job, as: campaign)
      if admission == .conflict {
        throw CommandError(
          .conflict, "id: \(Excerpt.quoted(campaign.id)) was used for another job",
          hint: "give the job an id of its own; an id is remembered for 90 days")
      }
      if global.json {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", campaign.id)
        json.member("duplicate", admission == .duplicate)
        json.endObject()
        try StandardOutput.printLine(json.text)
      } else {
        if admission == .duplicate { StandardError.write("the same job was submitted before: nothing changes\n") }
        try StandardOutput.printLine(campaign.id)
      }
    }
  }
}
