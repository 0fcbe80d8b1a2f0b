import PushCore

/// The attributes of a user, with the times at which they were set.
///
/// A registration replaces all attributes; an event sets or removes single ones. Both are *statements* with a time. For
/// each attribute the latest statement wins, in whatever order statements arrive. If two statements about an attribute
/// have the same time, a removal wins; otherwise the greater value wins. If two replacements have the same time, the
/// greater text wins. If they have no time, the later call wins.
///
/// In Redis, the attributes of a user are one JSON object. Its first member has the empty name, which is not allowed
/// for attributes. The value of this member is an array: the time of the last replacement, then name and time of each
/// attribute with a later statement.
struct UserAttributes: Equatable {
  /// A statement about a user's attributes.
  struct Statement {
    enum Change {
      /// A JSON object replaces all attributes.
      case replacement([UInt8])
      /// Attributes get a value, or are removed.
      case values([String: String?])
    }

    var change: Change
    /// Time of the statement, in ms since the epoch.
    var at: Int
  }

  /// Time of the last replacement of all attributes; 0 for never.
  private(set) var replacedAt = 0
  /// Times of the statements about single attributes after the last replacement, including removals.
  private(set) var times: [String: Int] = [:]
  /// The values as JSON.
  private(set) var values: [String: [UInt8]] = [:]

  private static let head = Array(#"{"":["#.utf8)

  /// Creates the attributes from their stored form.
  /// - Parameter stored: the bytes in Redis; empty for none.
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

  /// Returns the names of the attributes that have a value.
  ///
  /// - Parameter stored: the bytes in Redis; empty for none.
  static func names(stored: [UInt8]) -> [String] {
    guard let root = try? JSONValue(parsing: stored, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    else { return [] }
    return members.map(\.name).filter { !$0.isEmpty }
  }

  /// Returns the attributes without times, as a JSON object; empty if there are none.
  static func visible(_ stored: [UInt8]) -> [UInt8] {
    guard stored.starts(with: head) else { return stored }
    let attributes = UserAttributes(stored: stored)
    return attributes.values.isEmpty ? [] : attributes.object(withTimes: false)
  }

  /// The statements that lead to these attributes, the oldest first.
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

  /// Returns the text of a JSON value.
  private static func string(_ json: [UInt8]) -> String {
    if let value = try? JSONValue(parsing: json, maximumDepth: 1), case .string(let text) = value.kind { return text }
    return String(decoding: json, as: UTF8.self)
  }

  /// Applies a statement.
  /// - Returns: false if it changes nothing, because a newer statement exists.
  mutating func apply(_ statement: Statement) -> Bool {
    switch statement.change {
    case .replacement(let json): replace(with: json, at: statement.at)
    case .values(let changes):
      // Every change must be applied, so the loop does not stop at the first effect.
      changes.reduce(false) { set($1.key, to: $1.value, at: statement.at) || $0 }
    }
  }

  private mutating func replace(with json: [UInt8], at: Int) -> Bool {
    guard at >= replacedAt else { return false }
    let given = UserAttributes(stored: json).values
    if at == replacedAt, at > 0 {
      // As in `upsert.lua`: of two replacements of the same time, the greater text wins.
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

  /// Returns the values as a JSON object, in the order of their names.
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

  /// Returns the winner of two values of the same time: a removal, else the greater value.
  private static func greater(_ one: [UInt8]?, _ other: [UInt8]?) -> [UInt8]? {
    guard let one, let other else { return nil }
    return one.lexicographicallyPrecedes(other) ? other : one
  }

  /// Returns the stored form.
  ///
  /// If there are too many attributes, those that were set longest ago are dropped.
  ///
  /// - Parameter horizon: ms since the epoch; older times are dropped.
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
