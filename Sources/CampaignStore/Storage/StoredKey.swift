/// The type of a key of the store, and the object to which it belongs. This type is the table of keys in `Keys.md` as
/// code.
struct StoredKey {
  let name: String
  /// The type as Redis' `TYPE` reports it.
  let type: String
  /// The object that is damaged if the key is damaged.
  let damage: Damage
  /// The allowed field values, if the key is a hash with numbers.
  var hash: StoredHash?

  /// Creates the description of a key.
  /// - Returns: `nil` for a key that is not of this store.
  init?(_ name: String, _ keys: Keyspace) {
    guard name.hasPrefix("{\(keys.namespace)"), let end = name.firstIndex(of: "}") else { return nil }
    let tag = name[..<end].dropFirst(keys.namespace.utf8.count + 1)
    let words = name[end...].dropFirst(2).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = words.first.map(String.init) else { return nil }
    let rest = words.count > 1 ? String(words[1]) : ""
    self.name = name
    if tag.isEmpty {
      guard let known = Self.control(kind, rest, name) else { return nil }
      (type, damage, hash) = known
    } else {
      guard let partition = Int(tag.dropFirst()), let known = Self.slice(kind, rest, partition) else { return nil }
      (type, damage, hash) = known
    }
  }

  /// Returns the key of a campaign's hash.
  static func campaign(_ id: String, _ keys: Keyspace) -> StoredKey {
    StoredKey(name: keys.campaign(id), type: "hash", damage: .campaign(id), hash: .campaign)
  }

  /// Returns the key of a slice's hash.
  static func slice(_ slice: SliceReference, _ keys: Keyspace) -> StoredKey {
    StoredKey(
      name: keys.slice(slice.partition, of: slice.campaign), type: "hash", damage: .slice(slice), hash: .slice)
  }

  private init(name: String, type: String, damage: Damage, hash: StoredHash) {
    (self.name, self.type, self.damage, self.hash) = (name, type, damage, hash)
  }

  private static func control(_ kind: String, _ rest: String, _ name: String) -> (String, Damage, StoredHash?)? {
    switch kind {
    case "campaign": ("hash", .campaign(rest), .campaign)
    case "job", "finished", "submitter": ("string", .campaign(rest), nil)
    case "open", "timeline", "lane", "processing", "campaigns", "registrations", "receipts", "intake", "feedback":
      ("list", .list(key: name), nil)
    case "parked", "workers", "schedule", "gates", "approvals", "ended", "expiring", "declines", "applied",
      "activities":
      ("zset", .list(key: name), nil)
    case "trial", "answers", "watch": ("hash", .list(key: name), .guardTrial)
    case "attempts", "waiting", "instances", "reports", "webhooks", "alarms", "housekeeping", "import", "rate",
      "apprate", "backends", "backendrate", "quota", "ranking", "erasing":
      ("hash", .list(key: name), nil)
    case "definitions", "template": ("hash", .catalog(key: name), nil)
    case "segments", "templates": ("set", .catalog(key: name), nil)
    case "epoch", "failover", "housekeeper": ("string", .list(key: name), nil)
    case "store": ("hash", .shared, nil)
    case "running": ("set", .shared, nil)
    case "all": ("zset", .shared, nil)
    case "dead", "audit", "changes", "events": ("stream", .list(key: name), nil)
    default: nil
    }
  }

  private static func slice(_ kind: String, _ rest: String, _ partition: Int) -> (String, Damage, StoredHash?)? {
    // The first word is the campaign's id. A second word names a claim.
    let id = rest.split(separator: ":", maxSplits: 1).first.map(String.init) ?? ""
    let slice = Damage.slice(SliceReference(campaign: id, partition: partition))
    return switch kind {
    case "slice": ("hash", slice, .slice)
    case "targets", "building", "control": ("list", slice, nil)
    case "ledger", "recipients": ("string", slice, nil)
    case "retry": ("zset", slice, nil)
    case "reasons", "results", "values": ("hash", slice, nil)
    case "audience", "delivered", "opened", "dismissed": ("set", slice, nil)
    case "users", "segment", "importing": ("set", .partition(partition), nil)
    case "devices", "attributes", "pressure", "owner", "moving", "quarantine":
      ("hash", .partition(partition), nil)
    case "removals", "erased", "retained", "stated", "arrivals": ("zset", .partition(partition), nil)
    case "taken", "departures": ("string", .partition(partition), nil)
    case "outbox": ("list", .partition(partition), nil)
    default: nil
    }
  }
}
