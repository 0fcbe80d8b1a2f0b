import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension CampaignCommand {
  /// The command `carillon campaign list`.
  struct List: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List campaigns, newest first. The column `done` counts finished slices.",
      discussion: """
        Queued jobs come first, with their positions in the queue. If the queue is long, only the next jobs are listed.
        """)

    @Option(help: "Only campaigns in this state; queued: only jobs that no worker has taken yet.")
    var state: ListedState?
    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions

    func run() async throws {
      let store = try await global.openStore()
      // A job leaves the queue when it becomes a campaign. The queue is therefore read before the campaigns, so that no
      // job is missed.
      var queue = try await store.queue.waiting()
      var damage: [StoreError] = []
      var records = try await store.campaigns.all { damage.append($0) }
      let known = Set(records.map(\.id))
      queue.jobs.removeAll { known.contains($0.outline.id) }
      if let state {
        records.removeAll { $0.state != state.campaign }
        if state != .queued { (queue.jobs, queue.nameless, queue.unseen) = ([], 0, 0) }
      }
      let isWork = !queue.jobs.isEmpty || records.contains { $0.state == .active }
      let waiting = isWork ? try await store.campaigns.absence(lease: WorkerConfiguration.standardLease) : nil
      try print(queue, records, waiting)
      for error in damage.dropLast() { StandardError.write(CommandError(error).report(json: global.json)) }
      if let last = damage.last { throw last }
    }

    private func print(_ queue: JobQueue, _ records: [CampaignRecord], _ waiting: CampaignWait?) throws {
      let queued = queue.jobs.map { QueuedReport(job: $0, waiting: waiting) }
      if global.json {
        var json = JSONWriter()
        json.beginArray()
        for report in queued { report.write(to: &json) }
        for record in records { CampaignReport(record).write(to: &json) }
        json.endArray()
        return try StandardOutput.printLine(json.text)
      }
      let rows = records.map { record in
        [
          record.id, CampaignReport(record).state, record.app, record.lane.rawValue,
          CampaignReport(record).progress,
          "\(record.slices.finished)/\(record.slices.total)", Timestamp.format(milliseconds: record.times.createdAt),
        ]
      }
      try StandardOutput.printLine(
        TextTable([["id", "state", "app", "lane", "done", "slices", "created"]] + queued.map(\.cells) + rows).text)
      if queue.unseen > 0 {
        StandardError.write("\(queue.unseen.grouped) more jobs are in the queue and are not listed\n")
      }
      if queue.nameless > 0 {
        StandardError.write(
          "\(queue.nameless.grouped) queued jobs have no id: a worker will move them to the dead list\n")
      }
      if let waiting { StandardError.write("waiting: \(waiting.text)\n") }
    }
  }
}
