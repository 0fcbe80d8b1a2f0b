import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension DevicesCommand {
  /// `carillon devices sweep`.
  struct Sweep: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Finds devices that have removed the app: silent pushes at a low rate to all of them, which nobody sees.",
      discussion: """
        It is a campaign like any other, of the lane bulk: show, pause and cancel it as one. Devices of which APNs says \
        that they are gone are removed, as always. APNs says so some time after the app was removed, and may throttle \
        silent pushes: at 50 a second a million devices take five and a half hours. The app gets \
        {"aps":{"content-available":1}}.

        Examples:
          carillon devices sweep news
          carillon devices sweep news --rate 200 --id sweep-autumn
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The app.") var app: String
    @Option(help: "Pushes a second, of all workers together.") var rate = 50.0
    @Option(help: "The campaign's id; of the app and the day unless given.") var id: String?
    @Option(help: "Who submits it.") var by: String?

    func validate() throws {
      guard CampaignRate.isValid(rate) else { throw ValidationError("--rate must be \(CampaignRate.form).") }
      if let by { try CampaignCommand.Who.check(by) }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let day = Timestamp.format(milliseconds: Int(Date().timeIntervalSince1970 * 1000)).prefix(10)
      let id = id ?? "sweep-\(app)-\(day)"
      var job = CampaignJob.sweep(id: id, app: app, rate: rate)
      if let by { job = try CampaignJob.submitted(job, by: by) }
      let campaign = try CampaignJob.parse(job, configuration.jobApps())
      let store = try await StoreConnection(configuration.redis).open(creating: false)
      let admission = try await store.queue.submit(job, as: campaign, by: by)
      if admission == .conflict { throw CommandError.conflict(id) }
      guard global.json else {
        if admission == .duplicate { StandardError.write("it was begun before: nothing changes\n") }
        return try StandardOutput.printLine(id)
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("id", id)
      json.member("admission", admission.rawValue)
      json.endObject()
      try StandardOutput.printLine(json.text)
    }
  }
}
