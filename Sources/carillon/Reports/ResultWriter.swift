import APNs
import CampaignStore
import PushCore

/// Writes what became of targets, as lines of an export. Confined to one thread, as the digest in it.
struct ResultWriter {
  private let campaign: String
  private let service: any PushService
  private let ids: PushID
  private var csv: CSVWriter?
  private var json = JSONWriter()

  /// - Parameters:
  ///   - campaign: its id.
  ///   - service: whose tokens it was sent to.
  ///   - format: CSV begins with its header.
  ///   - spreadsheetSafe: see ``PushCore/CSVWriter``.
  init(
    campaign: String, service: any PushService, format: DeviceRowReader.Format, spreadsheetSafe: Bool = false
  ) {
    self.campaign = campaign
    self.service = service
    ids = PushID(campaign: campaign)
    guard format == .csv else { return }
    var header = CSVWriter(spreadsheetSafe: spreadsheetSafe)
    for name in ["campaign", "user", "token", "outcome", "status", "reason", "apnsId", "at"] { header.cell(name) }
    header.endRecord()
    csv = header
  }

  /// What is known, in the order of the contract; `nil` where there is nothing.
  func row(_ result: TargetResult) -> [(name: String, text: String?)] {
    [
      ("campaign", campaign), ("user", result.user.isEmpty ? nil : result.user),
      ("token", service.text(of: result.token)),
      ("outcome", result.outcome?.name), ("status", result.status == 0 ? nil : String(result.status)),
      ("reason", result.reason.isEmpty ? nil : result.reason),
      ("apnsId", UUIDText.text(ids.apnsID(token: result.token.bytes))),
      ("at", result.at == 0 ? nil : Timestamp.format(milliseconds: Int(result.at))),
    ]
  }

  mutating func append(_ result: TargetResult) {
    let row = row(result)
    if csv != nil {
      for (_, text) in row { csv?.cell(text) }
      csv?.endRecord()
      return
    }
    json.beginObject()
    for (name, text) in row {
      if name == "status" {
        json.member(name, text.flatMap { Int($0) })
      } else {
        json.member(name, text)
      }
    }
    json.endObject()
    json.endLine()
  }

  /// Hands over what has been written since the last time.
  mutating func take() -> [UInt8] { csv?.take() ?? json.take() }
}
