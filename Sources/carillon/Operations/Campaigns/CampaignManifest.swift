import CampaignStore
import CommandSupport
import Foundation
import PushCore
import TLS

/// The record of a campaign for archives: its audience, content, settings, times and operators' actions. Its last
/// member is the SHA-256 of all bytes before it, so that a change of a copy can be detected.
struct CampaignManifest {
  /// One JSON object.
  let json: String

  private static let seal = #","sha256":""#

  /// Creates the manifest of a campaign. It reads every target.
  init(of id: String, in store: CampaignStore) async throws {
    guard let record = try await store.campaigns.show(id), let (_, job) = try await store.campaigns.findWithJob(id)
    else {
      throw try await CampaignLookup(store).absent(id)
    }
    var audience = AudienceDigest()
    var rate = OutcomeRate()
    try await store.results.forEachResult(of: id) { page in
      for target in page {
        audience.add(target)
        if target.outcome != nil, target.at > 0 { rate.add(target.at) }
      }
      return true
    }
    let receipts = try await store.results.receipts(of: record)
    let timeline = try await store.campaigns.timeline(of: id)
    var json = JSONWriter()
    json.beginObject()
    json.member("manifest", 1)
    json.member("campaign", id)
    json.member("app", record.app)
    json.member("state", record.state.rawValue)
    json.member("reason", record.reason)
    json.member("isFinal", record.times.finishedAt != nil)
    Self.write(audience, to: &json)
    try Self.write(job: job, to: &json)
    json.outcomes(record.counters.outcomes)
    json.member("pruned", record.counters.pruned)
    json.member("quarantined", record.counters.quarantined)
    json.member("resent", record.counters.resent)
    json.object("receipts") { json in
      for kind in ReceiptEvent.Kind.allCases { json.member(kind.rawValue, receipts[kind] ?? 0) }
    }
    Self.write(record, timeline, to: &json)
    Self.write(rate, to: &json)
    json.endObject()
    let body = String(json.text.dropLast())
    self.json = body + Self.seal + Self.sha256(Array(body.utf8)) + "\"}"
  }

  /// Creates a manifest from an unchanged copy.
  ///
  /// - Parameters:
  ///   - text: the text of the copy.
  ///   - id: the id of the expected campaign.
  ///   - name: the name of the copy, for messages.
  /// - Throws: `CommandError` if the copy was changed, or if it belongs to another campaign.
  init(copy text: String, of id: String, _ name: String) throws(CommandError) {
    var text = text[...]
    while text.last?.isWhitespace == true { text.removeLast() }
    json = String(text)
    guard isIntact else {
      throw CommandError(
        .failed, "\(name) was changed: its SHA-256 does not match",
        hint: "use another copy, or create a new one: carillon campaign manifest \(id)")
    }
    guard campaign == id else {
      throw CommandError(
        .failed, "\(name) is the manifest of campaign \(Excerpt.quoted(campaign ?? "")), not of \(Excerpt.quoted(id))",
        hint: "use the id in the manifest")
    }
  }

  private static func sha256(_ bytes: [UInt8]) -> String {
    String(decoding: Hex.encode(Digest(.sha256).hash(bytes)), as: UTF8.self)
  }

  // MARK: Writing

  private static func write(_ audience: AudienceDigest, to json: inout JSONWriter) {
    json.object("audience") { json in
      json.member("targets", audience.targets)
      json.member("users", audience.users)
      json.member("digest", audience.text)
    }
  }

  /// Writes the fields of the job. The content is replaced by a digest, and a list of users or tokens is omitted.
  private static func write(job: [UInt8], to json: inout JSONWriter) throws {
    let root = try JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting)
    guard case .object(let members) = root.kind else { return }
    json.member("job", sha256(try CampaignJob.canonical(job)))
    let content = members.filter { $0.name == "message" || CampaignJob.isServiceObject($0.name) }
    if !content.isEmpty { json.member("content", sha256(content.flatMap { job[$0.value.range] })) }
    if let variants = members.value("variants") { json.member("variants", sha256(Array(job[variants.range]))) }
    json.object("settings") { json in
      for member in members
      where !["id", "app", "message", "localized", "variants", "submittedBy"].contains(member.name)
        && !CampaignJob.isServiceObject(member.name)
      {
        var isListed = false
        if member.name == "audience", case .object(let audience) = member.value.kind {
          isListed = audience.value("users") != nil || audience.value("tokens") != nil
        }
        if !isListed {
          json.name(member.name)
          json.raw(job[member.value.range])
        }
      }
    }
  }

  private static func write(_ record: CampaignRecord, _ timeline: [TimelineEntry], to json: inout JSONWriter) {
    json.name("timeline")
    json.beginArray()
    func entry(_ at: Int?, _ what: String, by person: String? = nil, isByWorker: Bool = false, _ reason: String? = nil)
    {
      guard let at else { return }
      json.beginObject()
      json.member("at", Timestamp.format(milliseconds: at))
      json.member("what", what)
      json.member("by", person ?? (isByWorker ? "a worker" : nil))
      json.member("reason", reason)
      json.endObject()
    }
    entry(record.times.createdAt, "submit", by: record.approval.submittedBy)
    var changes = timeline.map { ($0.at, $0.verb.rawValue, $0.person, $0.isByWorker, $0.reason) }
    if let startedAt = record.times.startedAt { changes.append((startedAt, "start", nil, true, nil)) }
    for change in changes.sorted(by: { $0.0 < $1.0 }) {
      entry(change.0, change.1, by: change.2, isByWorker: change.3, change.4)
    }
    entry(record.times.finishedAt, record.state.rawValue, isByWorker: true)
    json.endArray()
  }

  private static func write(_ rate: OutcomeRate, to json: inout JSONWriter) {
    json.object("rate") { json in
      json.member("seconds", rate.seconds)
      json.objects("ended", rate.stretches) { json, stretch in
        json.member("at", Timestamp.format(milliseconds: stretch.at))
        json.member("targets", stretch.count)
      }
    }
  }

  // MARK: Checking

  /// Compares a copy with the present state of the campaign.
  ///
  /// - Throws: `CommandError` if the campaign differs or does not exist.
  func compare(with id: String, in store: CampaignStore) async throws {
    let differences = differences(from: try await CampaignManifest(of: id, in: store))
    guard differences.isEmpty else {
      throw CommandError(
        .failed, "campaign \(id) differs from its manifest: \(differences.joined(separator: ", "))",
        hint: "a campaign changes until it has ended, and receipts can arrive after its end")
    }
  }

  /// Returns the JSON output for a copy of a manifest that matches its campaign.
  static func held(_ id: String) -> String { #"{"id":"\#(id)","holds":true}"# }

  /// Whether the copy is unchanged.
  private var isIntact: Bool {
    guard let seal = json.range(of: Self.seal, options: .backwards) else { return false }
    return json[seal.upperBound...] == Self.sha256(Array(json[..<seal.lowerBound].utf8)) + "\"}"
  }

  /// The id of the manifest's campaign; `nil` if it has none.
  private var campaign: String? {
    if case .string(let id)? = members.value("campaign")?.kind { id } else { nil }
  }

  /// Returns the names of the members that differ between the two manifests.
  private func differences(from other: CampaignManifest) -> [String] {
    let (mine, others) = (values, other.values)
    return Set(mine.keys).union(others.keys).subtracting(["sha256"]).filter { mine[$0] != others[$0] }.sorted()
  }

  private var members: [JSONValue.Member] {
    guard let root = try? JSONValue(parsing: Array(json.utf8), maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    else { return [] }
    return members
  }

  private var values: [String: [UInt8]] {
    let bytes = Array(json.utf8)
    return Dictionary(members.map { ($0.name, Array(bytes[$0.value.range])) }) { first, _ in first }
  }
}
