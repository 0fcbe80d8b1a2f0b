public import PushCore
import Redis

/// Segments that are rules: an expression over segments, optionally with a condition on devices. The users of a rule
/// are not stored; workers evaluate the rule when they need it.
extension Audiences {
  /// Returns all defined segments.
  ///
  /// - Throws: ``StoreError`` `damaged` for a rule that Carillon did not write.
  public func definitions() async throws -> SegmentDefinitions {
    try await namesAndDefinitions().definitions
  }

  /// Returns the names of all segments that are lists of users, and the segments that are rules.
  func namesAndDefinitions() async throws -> (lists: [String], definitions: SegmentDefinitions) {
    let read = try await read()
    return (read.lists, read.definitions)
  }

  private func read() async throws -> (lists: [String], definitions: SegmentDefinitions, changes: String) {
    var pipeline = RedisPipeline()
    pipeline.append("SMEMBERS", keys.segments)
    pipeline.append("HGETALL", keys.definitions)
    let replies = try await run(pipeline)
    let lists = replies[0].compactMap(\.string).filter(Self.isSegment).sorted()
    var (rules, changes): ([(name: String, json: [UInt8])], String) = ([], "0")
    for index in stride(from: 0, to: replies[1].count - 1, by: 2) {
      let (name, value) = (replies[1][index].string ?? "", replies[1][index + 1])
      if name.isEmpty {
        changes = value.string ?? "0"
      } else {
        rules.append((name, Array(value.bytes ?? [])))
      }
    }
    let size = rules.reduce(0) { $0 + $1.json.count }
    let definitions = await LargeJobThread.read(size) { [rules] in
      var (all, unreadable): ([String: SegmentDefinition], Set<String>) = ([:], [])
      for (name, json) in rules {
        if let definition = SegmentDefinition(json) { all[name] = definition } else { unreadable.insert(name) }
      }
      return SegmentDefinitions(all, unreadable: unreadable)
    }
    return (lists, definitions, changes)
  }

  /// Stores a segment that is a rule, and replaces a rule of the same name.
  ///
  /// - Parameters:
  ///   - name: a name that `PlainName` allows.
  ///   - definition: the rule.
  /// - Throws: ``StoreError`` `invalid` if the rule names a segment that does not exist, if rules would refer to each
  ///   other in a cycle or too deep, or if a list of users has that name.
  public func define(_ name: String, _ definition: SegmentDefinition) async throws {
    try await change(name, definition.json) { lists, definitions throws(StoreError) in
      guard !lists.contains(name) else {
        throw StoreError(
          .invalid, "\(Excerpt.quoted(name)) already exists as a segment with its own users",
          hint: "choose another name, or remove that one first: carillon segment remove \(name)")
      }
      let changed = definitions.with(definition, named: name)
      for inner in definition.expression.segmentNames.sorted() where !lists.contains(inner) && changed[inner] == nil {
        throw StoreError(
          .invalid, "there is no segment \(Excerpt.quoted(inner))",
          hint: Nearest.match(inner, among: lists + changed.all.keys).map { "did you mean \($0)?" }
            ?? "import it first: carillon segment import \(inner) FILE")
      }
      do {
        try changed.check()
      } catch {
        throw StoreError(
          .invalid, "invalid definition of \(Excerpt.quoted(name)): \(error)", hint: "change the expression")
      }
      guard changed.all.count <= SegmentDefinitions.maximumCount else {
        throw StoreError(
          .invalid, "the store already has \(SegmentDefinitions.maximumCount) definitions of segments, the maximum",
          hint: "remove some: carillon segment list, carillon segment remove NAME")
      }
    }
  }

  /// Removes a segment that is a rule. Campaigns that have begun keep their copy of it.
  ///
  /// - Returns: false if no rule has that name.
  /// - Throws: ``StoreError`` `invalid` if another rule names the segment.
  func undefine(_ name: String) async throws -> Bool {
    let known = try await definitions()
    guard known[name] != nil || known.unreadable.contains(name) else { return false }
    try await change(name, []) { _, definitions throws(StoreError) in try Self.checkUnused(name, definitions) }
    return true
  }

  /// Refuses to remove a segment that other rules name: without the segment, `!gone` would match all users.
  static func checkUnused(_ name: String, _ definitions: SegmentDefinitions) throws(StoreError) {
    let users = definitions.users(of: name)
    guard !users.isEmpty else { return }
    throw StoreError(
      .invalid, "definitions use the segment \(Excerpt.quoted(name)): \(users.joined(separator: ", "))",
      hint: "change or remove these definitions first")
  }

  private func change(
    _ name: String, _ json: [UInt8],
    _ check: (_ lists: [String], _ definitions: SegmentDefinitions) throws(StoreError) -> Void
  ) async throws {
    while true {
      let (lists, definitions, changes) = try await read()
      try check(lists, definitions)
      var pipeline = RedisPipeline()
      pipeline.script(StoreScripts.define, keys: [keys.definitions]) {
        $0.append(changes)
        $0.append(name)
        $0.append(json)
      }
      if try await run(pipeline)[0].integer == 1 { return }
    }
  }

  /// Throws if a segment is a rule, because a list of users can't have the name of a rule.
  ///
  /// - Throws: ``StoreError`` `invalid`.
  public func checkNotDefined(_ name: String) async throws {
    let known = try await definitions()
    let definition = known[name].map { "\($0)" } ?? (known.unreadable.contains(name) ? "an unreadable expression" : nil)
    guard let definition else { return }
    throw StoreError(
      .invalid, "the segment \(Excerpt.quoted(name)) is defined as \(definition): it can't have users of its own",
      hint: "choose another name, or remove that one first: carillon segment remove \(name)")
  }
}
