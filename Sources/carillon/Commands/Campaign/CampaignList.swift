import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension CampaignCommand {
  /// `carillon campaign list`.
  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the campaigns, the newest first; counts are of finished slices.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
      var damage: [StoreError] = []
      let records = try await global.openStore().campaigns { damage.append($0) }
      try print(records)
      for error in damage.dropLast() { StandardError.write(CommandError(error).report(json: global.json)) }
      if let last = damage.last { throw last }
    }

    private func print(_ records: [CampaignRecord]) throws {
      if global.json {
        var json = JSONWriter()
        json.beginArray()
        for record in records { CampaignReport(record).write(to: &json) }
        json.endArray()
        return try StandardOutput.printLine(json.text)
      }
      let rows = records.map { record in
        [
          record.id, CampaignReport(record).state, record.app, record.lane.rawValue,
          "\(CampaignReport(record).done.grouped)/\(record.counters.targets.grouped)",
          "\(record.slices.finished)/\(record.slices.total)", Timestamp.format(milliseconds: record.createdAt),
        ]
      }
      try StandardOutput.printLine(
        TextTable([["id", "state", "app", "lane", "done", "slices", "created"]] + rows).text)
    }
  }
}
