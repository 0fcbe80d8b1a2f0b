import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore
import ServiceTools

extension DevicesCommand {
  /// The command `carillon devices sweep`.
  struct Sweep: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "sweep",
      abstract:
        "Find and remove devices on which the app was uninstalled. Sends each device a silent push at a low rate.",
      discussion: """
        A sweep is a campaign in the lane bulk. You can show, pause and cancel it. If a push service answers that a \
        token is unregistered, Carillon removes the device. Services give this answer only some time after the user \
        removed the app. They may also throttle silent pushes. At 50 pushes a second, a million devices take five and \
        a half hours. The push to APNs has the payload {"aps":{"content-available":1}}, the push to FCM has no \
        content.

        Examples:
          carillon devices sweep news
          carillon devices sweep news --rate 200 --id sweep-autumn
        """)

    static let effect = Effect.changes([.campaignSubmit])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The app.") var app: String
    @Option(help: "Pushes per second of all workers together.") var rate = 50.0
    @Option(help: "The campaign's id (default: sweep-APP-DATE).") var id: String?
    @Option(help: "The submitter's name.") var by: String?

    func validate() throws {
      guard CampaignRate.isValid(rate) else { throw ValidationError("--rate must be \(CampaignRate.form).") }
      if let by { try CampaignCommand.OperatorOptions.check(by) }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let day = Timestamp.format(milliseconds: Int(Date().timeIntervalSince1970 * 1000)).prefix(10)
      let id = id ?? "sweep-\(app)-\(day)"
      try configuration.checkApp(app)
      let services = configuration.apps[app]?.services.map(\.settings.service) ?? []
      var job = CampaignJob.sweep(id: id, app: app, services, rate: rate)
      if let by { job = try CampaignJob.submitted(job, by: by) }
      let campaign = try CampaignJob.parse(job, configuration.jobApps())
      let store = try await StoreConnection(configuration.redis).open(creating: false)
      let admission = try await store.queue.submit(job, as: campaign, by: by)
      if admission == .conflict { throw CommandError.conflict(id) }
      if admission != .duplicate { await AuditTrail(store).record(submitted: campaign, by: .commandLine) }
      guard global.json else {
        if admission == .duplicate { StandardError.write("this sweep was already submitted: nothing changed\n") }
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
