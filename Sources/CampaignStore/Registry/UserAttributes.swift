import PushCore

/// The attributes of a user, with the times at which they were said. Pure.
///
/// All attributes can be replaced at once (by a registration), or one be set or removed (by an event); of each the latest
/// statement stands, whatever the order of arrival. Of two statements of the same time about one attribute the removal
/// stands, then the greater value; of two that replace everything at the same time, the one that arrives last.
///
/// In Redis they are one JSON object. Its first member, of the empty name, is an array: the time at which everything was
/// replaced last, then name and time of each attribute of which something was said later. No attribute has an empty name.
struct UserAttributes: Equatable {
  /// What is said of a user's attributes.
  struct Statement {
    enum Change {
      /// A JSON object takes the place of all attributes.
      case replacement([UInt8])
      /// Attributes get a value, or none.
      case values([String: String?])
    }

    var change: Change
    /// ms since the epoch.
    var at: Int
  }

  /// When everything was replaced last; 0 for never.
  private(set) var replacedAt = 0
  /// When something was said of one attribute later, removed ones too.
  private(set) var times: [String: Int] = [:]
  /// The JSON of the values.
  private(set) var values: [String: [UInt8]] = [:]

  private static let head = Array(#"{"":["#.utf8)

  /// - Parameter stored: as they stand in Redis; nothing for none.
  init(stored: [UInt8]) {
    guard let root = try? JSONValue(parsing: stored, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    else { return }
    for member in members {
      if !member.name.isEmpty {
        values[member.name] = Array(stored[member.value.range])
      } else if case .array(let elements) = member.value.kind {
        replacedAt = elements.first?.integer ?? 0
        for place in stride(from: 1, to: elements.count - 1, by: 2) {
          if case .string(let name) = elements[place].kind { times[name] = elements[place + 1].integer ?? 0 }
        }
      }
    }
  }

  /// The names of the attributes that have a value.
  ///
  /// - Parameter stored: as they stand in Redis; nothing for none.
  static func names(stored: [UInt8]) -> [String] {
    guard let root = try? JSONValue(parsing: stored, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    else { return [] }
    return members.map(\.name).filter { !$0.isEmpty }
  }

  /// The attributes alone, as a JSON object; nothing for none.
  static func visible(_ stored: [UInt8]) -> [UInt8] {
    guard stored.starts(with: head) else { return stored }
    let attributes = UserAttributes(stored: stored)
    return attributes.values.isEmpty ? [] : attributes.object(withTimes: false)
  }

  /// The statements from which these attributes follow, the oldest first.
  var statements: [Statement] {
    var all: [Statement] = []
    let untimed = values.filter { times[$0.key] == nil }
    if replacedAt > 0 || !untimed.isEmpty {
      all.append(Statement(change: .replacement(Self.text(untimed)), at: replacedAt))
    }
    for (name, at) in times.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      all.append(Statement(change: .values([name: values[name].map(Self.string)]), at: at))
    }
    return all
  }

  /// The text of a value in JSON.
  private static func string(_ json: [UInt8]) -> String {
    if let value = try? JSONValue(parsing: json, maximumDepth: 1), case .string(let text) = value.kind { return text }
    return String(decoding: json, as: UTF8.self)
  }

  /// - Returns: false when it changes nothing, because something newer stands.
  mutating func apply(_ statement: Statement) -> Bool {
    switch statement.change {
    case .replacement(let json): replace(with: json, at: statement.at)
    case .values(let changes):
      // All of them are looked at.
      changes.reduce(false) { set($1.key, to: $1.value, at: statement.at) || $0 }
    }
  }

  private mutating func replace(with json: [UInt8], at: Int) -> Bool {
    guard at >= replacedAt else { return false }
    let given = UserAttributes(stored: json).values
    if at == replacedAt, at > 0 {
      // As in `upsert.lua`: of two of the same time the one with the greater text stands.
      let (known, new) = (Self.text(values.filter { times[$0.key] == nil }), Self.text(given))
      guard known.lexicographicallyPrecedes(new) else { return known == new }
    }
    replacedAt = at
    for name in Set(values.keys).union(given.keys).union(times.keys) {
      let time = times[name] ?? -1
      if time > at { continue }
      if time == at {
        values[name] = Self.greater(values[name], given[name])
      } else {
        values[name] = given[name]
        times[name] = nil
      }
    }
    return true
  }

  private mutating func set(_ name: String, to text: String?, at: Int) -> Bool {
    let known = max(times[name] ?? 0, replacedAt)
    guard at >= known else { return false }
    var value: [UInt8]?
    if let text {
      var writer = JSONWriter()
      writer.value(text)
      value = writer.take()
    }
    if at == known {
      let stands = Self.greater(values[name], value)
      let isChange = stands != values[name]
      values[name] = stands
      if isChange { times[name] = at }
      return isChange || stands == value
    }
    values[name] = value
    times[name] = at
    return true
  }

  /// Values as an object, in the order of their names.
  private static func text(_ values: [String: [UInt8]]) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      writer.name(name)
      writer.raw(value[...])
    }
    writer.endObject()
    return writer.take()
  }

  /// Of two values of the same time: none, if one is none.
  private static func greater(_ one: [UInt8]?, _ other: [UInt8]?) -> [UInt8]? {
    guard let one, let other else { return nil }
    return one.lexicographicallyPrecedes(other) ? other : one
  }

  /// As they are to stand in Redis.
  ///
  /// Of more than the largest number of attributes those leave of which something was said longest ago.
  ///
  /// - Parameter horizon: ms since the epoch; times before that are forgotten.
  mutating func stored(horizon: Int) -> [UInt8] {
    let most = DeviceRowDraft.maximumAttributes
    if values.count > most {
      let ranked = values.keys.sorted { (times[$0] ?? replacedAt, $1) > (times[$1] ?? replacedAt, $0) }
      for name in ranked.dropFirst(most) { values[name] = nil }
    }
    times = times.filter { $0.value >= horizon }
    if times.count > 2 * most {
      let ranked = times.keys.sorted { (times[$0] ?? 0, $1) > (times[$1] ?? 0, $0) }
      for name in ranked.dropFirst(2 * most) { times[name] = nil }
    }
    return object(withTimes: true)
  }

  private func object(withTimes: Bool) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    if withTimes {
      writer.name("")
      writer.beginArray()
      writer.value(replacedAt)
      for (name, at) in times.sorted(by: { $0.key < $1.key }) {
        writer.value(name)
        writer.value(at)
      }
      writer.endArray()
    }
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      writer.name(name)
      writer.raw(value)
    }
    writer.endObject()
    return writer.take()
  }
}

extension JSONValue {
  fileprivate var integer: Int? {
    if case .number(let digits) = kind { Int(digits) } else { nil }
  }
}
