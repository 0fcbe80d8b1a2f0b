import CampaignStore
import CommandSupport
import PushCore
import ServiceTools

/// Writes the results of targets as lines of an export. Only one thread may use a writer, because only one thread may
/// use the digest in it.
struct ResultWriter {
  private let campaign: String
  private let services: [any PushService]
  /// Whether the campaign has several push services.
  private let hasServices: Bool
  /// Name of the column for the push's id at its service, such as APNs' id; `nil` if no service of the campaign has
  /// such ids.
  private let idName: String?
  /// The ids of pushes, by service.
  private let ids: [String: ResultID]
  /// Variants of the campaign; `nil` if there are none.
  private let variants: CampaignVariants?
  /// Stages of the campaign; `nil` if there are none.
  private let stages: CampaignStages?
  private var csv: CSVWriter?
  private var json = JSONWriter()

  /// - Parameters:
  ///   - campaign: the id of the campaign.
  ///   - services: the push services of the tokens. If there are several, a column with their names is added.
  ///   - groups: the variants and the stages of the campaign; `nil` if the users are not divided in this way.
  ///   - format: the format. CSV begins with a header line.
  ///   - spreadsheetSafe: see ``PushCore/CSVWriter``.
  init(
    campaign: String, services: [any PushService],
    groups: (variants: CampaignVariants?, stages: CampaignStages?) = (nil, nil), format: DeviceRowReader.Format,
    spreadsheetSafe: Bool = false
  ) {
    self.campaign = campaign
    self.services = services
    hasServices = services.count > 1
    let whole = CampaignID(campaign).whole
    ids = services.reduce(into: [:]) { $0[$1.name] = KnownServices.all[$1.name]?.resultID(ofCampaign: whole) }
    idName = services.lazy.compactMap { [ids] in ids[$0.name]?.name }.first
    (variants, stages) = groups
    guard format == .csv else { return }
    var header = CSVWriter(spreadsheetSafe: spreadsheetSafe)
    let names = ["campaign", "user", "token", "outcome", "status", "reason"] + (idName.map { [$0] } ?? []) + ["at"]
    let more =
      (hasServices ? ["service"] : []) + (variants == nil ? [] : ["variant"]) + (stages == nil ? [] : ["stage"])
    for name in names + more { header.cell(name) }
    header.endRecord()
    csv = header
  }

  /// Returns the columns of a result in their documented order. A text is `nil` if the value is unknown.
  func row(_ result: TargetResult) -> [(name: String, text: String?)] {
    var row: [(name: String, text: String?)] = [
      ("campaign", campaign), ("user", result.user.isEmpty ? nil : result.user),
      ("token", result.token.map { token in services.first { $0.name == result.service }?.text(of: token) ?? "" }),
      ("outcome", result.outcome?.name), ("status", result.status == 0 ? nil : String(result.status)),
      ("reason", result.reason.isEmpty ? nil : result.reason),
    ]
    if let idName {
      let id = ids[result.service]
      row.append((idName, id.flatMap { id in result.token.map(id.text) }))
    }
    row.append(("at", result.at == 0 ? nil : Timestamp.format(milliseconds: Int(result.at))))
    if hasServices { row.append(("service", result.service)) }
    if let variants {
      row.append(
        ("variant", result.variant.flatMap { variants.all.indices.contains($0) ? variants.all[$0].name : nil }))
    }
    if let stages {
      let place = Array(result.user.utf8).withUnsafeBytes(stages.draw.index)
      let stage = place < stages.all.count ? "\(place + 1)" : "\(CampaignPart(.rest))"
      // The stage is calculated from the user's id, which an erased target no longer has.
      row.append(("stage", result.token == nil ? nil : stage))
    }
    return row
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
    if result.token == nil { json.member("erased", true) }
    json.endObject()
    json.endLine()
  }

  /// Returns the output since the last call.
  mutating func take() -> [UInt8] { csv?.take() ?? json.take() }
}
