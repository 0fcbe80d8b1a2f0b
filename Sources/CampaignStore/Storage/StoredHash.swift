import PushCore
import Redis

/// The hashes with numbers that the store uses in calculations, and the allowed values of their fields. The store
/// checks every value from Redis, because other programs may have written it.
enum StoredHash {
  case slice, campaign, guardTrial

  /// The allowed values of a field.
  enum Value {
    case number(ClosedRange<Int>)
    /// A number or an empty text.
    case numberOrNothing(ClosedRange<Int>)
    case word([String])
    /// A text of at most this many bytes.
    case text(Int)

    var description: String {
      switch self {
      case .number(let range), .numberOrNothing(let range):
        "a whole number from \(range.lowerBound) to \(range.upperBound)"
      case .word(let words): "one of " + words.joined(separator: ", ")
      case .text(let limit): "at most \(limit) bytes"
      }
    }
  }

  /// Largest number of targets of a slice. The ledger of a slice is a string, and Redis limits a string to 512 MiB.
  static let maximumTargets = (512 << 20) / LedgerRecord.size
  /// Largest integer that Lua computes exactly.
  static let maximumCounted = 1 << 53
  /// Times until the end of the year 9999.
  private static let times = 0...Timestamp.range.upperBound
  private static let stages = 0...CampaignStages.maximum
  private static let bitmap = Value.text(16384 / 8)

  /// Returns the allowed values of a field; `nil` for a field that may have any text, and for a field that the store
  /// does not know.
  func value(of field: String) -> Value? {
    switch self {
    case .slice: Self.ofSlice[field]
    case .campaign: Self.ofCampaign[field]
    case .guardTrial: field == "at" ? .number(Self.times) : .number(-Self.maximumCounted...Self.maximumCounted)
    }
  }

  /// The names of the fields with limited values.
  var fields: [String] {
    switch self {
    case .slice: Self.ofSlice.keys.sorted()
    case .campaign: Self.ofCampaign.keys.sorted()
    case .guardTrial: ["answers", "suspects", "gone", "leased", "returned", "at", "spent"]
    }
  }

  private static let ofSlice: [String: Value] = {
    var values: [String: Value] = [
      "phase": .word(SlicePhase.allCases.map(\.rawValue)), "lease": .number(times),
      "format": .number(1...1_000_000), "deaths": .number(0...maximumCounted), "claims": .number(0...maximumCounted),
      "seq": .number(0...maximumCounted), "replays": .number(0...maximumCounted),
      "seal": .text(64), "claim": .text(64), "bisected": .text(64), "readyAt": .number(times),
      "cancelledAt": .number(times), "times": .text(SendTimes.largest), "departed": .number(-1...maximumCounted),
      "withheld": .number(0...1), "blanked": .text(4 * maximumTargets),
    ]
    let counts = ["count", "granted", "doubt", "waiting", "ready", "pruned", "quarantined", "control"]
    for field in counts + outcomes + AudienceCount.fields {
      values[field] = .number(0...maximumTargets)
    }
    for field in CampaignVariants.places.flatMap(VariantCounts.fields) { values[field] = .number(0...maximumTargets) }
    values["resent"] = .number(0...maximumCounted)
    return values
  }()

  private static let ofCampaign: [String: Value] = {
    var values: [String: Value] = [
      "state": .word(["scheduled", "waiting", "active", "paused", "cancelled", "completed", "failed"]),
      "lane": .word(Lane.allCases.map(\.rawValue)), "ttl": .number(1...DurationText.maximumSeconds),
      "expiration": .numberOrNothing(0...Timestamp.range.upperBound / 1000),
      "lifetime": .number(0...Timestamp.range.upperBound / 1000), "isLocal": .number(0...1),
      "round": .number(0...maximumCounted),
      "unguarded": .number(0...1), "pausedItself": .number(0...1), "finished": .number(0...16384),
      "slices": .number(0...16384), "partitions": .number(0...16384), "absent": bitmap, "narrowed": .number(0...1),
      "receipts": .number(0...2), "awaits": .text(64), "eventsNotApplied": .number(0...maximumCounted),
      "createdAt": .number(times), "sendAt": .number(times), "startedAt": .number(times), "finishedAt": .number(times),
      "rate": .text(32), "spread": .number(CampaignRate.spreads), "finishBy": .number(times),
      "repeat": .text(1024), "runs": .number(0...maximumCounted), "leftOut": .number(0...maximumCounted),
      "lastRun": .text(128), "openRuns": .text((Queue.maximumOpenRuns + 1) * 129), "finalRun": .number(0...1),
      "pending": .number(0...1), "of": .text(128), "run": .text(128), "parts": .text(1024),
      "gated": .number(0...1),
      "stage": .number(stages), "verdict": .number(stages), "overridden": .number(stages), "start": .number(times),
      "variant": .number(0...CampaignVariants.maximum - 1), "winner": .number(0...CampaignVariants.maximum - 1),
      "decidedAt": .number(times),
      "decidedBy": .text(1024),
      "quotas": .text(4 * 16384), "definitions": .text(SegmentDefinitions.longest),
      "reason": .text(65_536), "app": .text(1024), "service": .text(1024),
      "reachedTargets": .number(0...StoredHash.maximumCounted), "reachedUsers": .number(0...StoredHash.maximumCounted),
      "approval": .word(["needed", "given"]), "approvedBy": .text(1024), "submittedBy": .text(1024),
    ]
    for field in ["targets", "pruned", "quarantined", "control"] + outcomes + AudienceCount.fields {
      values[field] = .number(0...maximumTargets * 16384)
    }
    values["resent"] = .number(0...maximumCounted)
    values["takenOut"] = .number(0...16384)
    return values
  }()

  private static let outcomes = Outcome.allCases.map { String($0.rawValue) }
}

/// The values of a hash of the store. Each value is checked when a caller reads it.
struct StoredFields {
  private let key: StoredKey
  private let values: [String: RedisReply]

  /// Returns whether the hash has the field.
  func has(_ field: String) -> Bool { values[field]?.isNull == false }

  /// Creates the values from the reply to an `HMGET`.
  ///
  /// - Parameters:
  ///   - key: key of the hash.
  ///   - names: names of the fields.
  ///   - reply: the reply to `HMGET` with these names.
  init(_ key: StoredKey, _ names: [String], _ reply: RedisReply) {
    self.init(key, Dictionary(zip(names, reply), uniquingKeysWith: { first, _ in first }))
  }

  /// Creates the values from the reply to an `HGETALL`.
  ///
  /// - Parameters:
  ///   - key: key of the hash.
  ///   - reply: the reply to `HGETALL`.
  init(_ key: StoredKey, all reply: RedisReply) {
    var values: [String: RedisReply] = [:]
    for index in stride(from: 0, to: reply.count - 1, by: 2) { values[reply[index].string ?? ""] = reply[index + 1] }
    self.init(key, values)
  }

  /// Creates the values from replies by field.
  ///
  /// - Parameters:
  ///   - key: key of the hash.
  ///   - values: replies by field, null for a missing field.
  init(_ key: StoredKey, _ values: [String: RedisReply]) {
    self.key = key
    self.values = values
  }

  /// Returns the number of a field; `nil` if the field is missing.
  ///
  /// - Parameter most: an upper limit, if it is lower than the field's own limit.
  func number(_ field: String, upTo most: Int? = nil) throws(StoreError) -> Int? {
    guard let reply = values[field], !reply.isNull else { return nil }
    var range: ClosedRange<Int>
    switch key.hash?.value(of: field) {
    case .number(let known)?: range = known
    case .numberOrNothing(let known)?:
      if reply.bytes?.isEmpty == true { return nil }
      range = known
    default: return reply.integer
    }
    if let most { range = range.lowerBound...max(range.lowerBound, min(range.upperBound, most)) }
    guard let number = reply.integer, range.contains(number) else { throw damage(field, reply, .number(range)) }
    return number
  }

  /// Returns the text of a field; `nil` if the field is missing.
  func text(_ field: String) throws(StoreError) -> String? {
    guard let reply = values[field], !reply.isNull else { return nil }
    let text = reply.string ?? ""
    let size = reply.bytes?.count ?? 0
    switch key.hash?.value(of: field) {
    case .word(let words)? where !words.contains(text): throw damage(field, reply, .word(words))
    case .text(let limit)? where size > limit: throw damage(field, reply, .text(limit))
    default: return text
    }
  }

  /// Returns the bytes of a field; `nil` if the field is missing.
  func bytes(_ field: String) throws(StoreError) -> [UInt8]? {
    _ = try text(field)
    return values[field]?.bytes.map(Array.init)
  }

  /// Checks every field against its allowed values.
  func check() throws(StoreError) {
    for field in values.keys.sorted() {
      switch key.hash?.value(of: field) {
      case .number?, .numberOrNothing?: _ = try number(field)
      case .word?, .text?: _ = try text(field)
      case nil: break
      }
    }
    guard key.hash == .slice else { return }
    let count = try number("count") ?? 0
    for field in ["granted", "doubt", "waiting", "ready"] { _ = try number(field, upTo: count) }
  }

  private func damage(_ field: String, _ reply: RedisReply, _ value: StoredHash.Value) -> StoreError {
    let found =
      reply.kind == .integer
      ? "\(reply)" : Excerpt.quoted(String(decoding: (reply.bytes ?? []).prefix(64), as: UTF8.self))
    return StoreError(
      key.damage, "the field \(field) of the key \(key.name) is \(found), expected \(value.description)")
  }
}
