import PushCore
import Redis

/// Replaces a segment or a suppression list by a file. The file applies to every user as of the time `asOf`: the users
/// in the file are members, all other users are not.
extension Audiences {
  /// Begins the import of a segment that replaces the current one.
  ///
  /// - Parameters:
  ///   - segment: a name that expressions can contain.
  ///   - asOf: when the list was written, in ms since 1970; `nil`, or a time ahead of Redis' clock, means now. A change
  ///     of a user's membership after this time stays valid.
  /// - Throws: ``StoreError`` `invalid` if the current list is newer, or if Redis may have removed the times of newer
  ///   changes.
  public func replacement(of segment: String, asOf: Int? = nil) async throws -> SegmentReplacement {
    let now = try await store.time() / 1000
    let instant = min(asOf ?? now, now)
    guard instant > now - Registry.memory else {
      throw StoreError(
        .invalid,
        "the list was written at \(Timestamp.format(milliseconds: instant)), but Carillon stores the times of opt-outs "
          + "for only \(Registry.memory / 86_400_000) days",
        hint: "export the list again, or set its time: --as-of TIME")
    }
    let known = try await lastReplaced(segment)
    guard known <= instant else {
      throw StoreError(
        .invalid,
        "the list was written at \(Timestamp.format(milliseconds: instant)), but \(Excerpt.quoted(segment)) was "
          + "replaced or removed as of \(Timestamp.format(milliseconds: known)), which is later",
        hint: "export the list again, or set its time: --as-of TIME")
    }
    if SuppressionList(segment: segment) != nil { try await recordArrivals(on: segment, from: now) }
    return SegmentReplacement(of: segment, at: instant, began: now)
  }

  /// Starts a list of the opt-outs that arrive during the import. The times of these opt-outs may be earlier than the
  /// time of the imported list.
  private func recordArrivals(on list: String, from now: Int) async throws {
    for page in (0..<keys.partitions).batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        let key = keys.arrivals(partition, list)
        pipeline.append("ZADD", key, now, "")
        // Remove old entries. An earlier import that still runs began at most a day ago, and needs only later entries.
        pipeline.append("ZREMRANGEBYSCORE", key, "-inf", now - SegmentReplacement.timeToLive * 1000)
        pipeline.append("EXPIRE", key, SegmentReplacement.timeToLive)
      }
      _ = try await run(pipeline)
    }
  }

  /// Returns the time when the whole of a segment was last replaced or removed, in ms since 1970; 0 for never.
  private func lastReplaced(_ segment: String) async throws -> Int {
    var latest = 0.0
    for page in (0..<keys.partitions).batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.append("ZSCORE", keys.stated(partition, segment), "")
      }
      for reply in try await run(pipeline) {
        latest = max(latest, reply.string.flatMap { Double($0) } ?? 0)
      }
    }
    return Int(latest)
  }

  /// Adds users to a segment that is being imported. Readers see them after ``putInForce(_:)``.
  ///
  /// - Returns: the number of these users who are registered.
  public func add(_ users: [String], to replacement: inout SegmentReplacement) async throws -> Int {
    var pipeline = RedisPipeline(reserving: users.count * 96)
    let (name, id) = (replacement.name, replacement.id)
    var touched: Set<Int> = []
    let known = askForRegistered(users, &pipeline)
    forEachGroup(of: users) { partition, group in
      touched.insert(partition)
      pipeline.command("SADD") { arguments in
        arguments.append(keys.importing(partition, name, id: id))
        for user in group { arguments.append(user) }
      }
    }
    for partition in touched {
      pipeline.append("EXPIRE", keys.importing(partition, name, id: id), SegmentReplacement.timeToLive)
    }
    let replies = try await run(pipeline)
    replacement.partitions.formUnion(touched)
    return Self.sum(replies, known)
  }

  /// Returns the number of imported users, each counted once.
  public func size(of replacement: SegmentReplacement) async throws -> Int {
    var pipeline = RedisPipeline()
    for partition in replacement.partitions {
      pipeline.append("SCARD", keys.importing(partition, replacement.name, id: replacement.id))
    }
    guard !pipeline.isEmpty else { return 0 }
    return try await run(pipeline).reduce(0) { $0 + ($1.integer ?? 0) }
  }

  /// Replaces the current segment by an imported one, partition by partition, each in one step. Until then, readers see
  /// the old segment. A change of a user's membership after the time of the list stays valid.
  ///
  /// The name of a new list is stored in a separate step before its first users. Otherwise an erasure in between would
  /// not find the list, and the erased user would stay in it.
  ///
  /// - Returns: whether the import has replaced the list; `false` if a newer list has replaced it in the meantime.
  @discardableResult
  public func putInForce(_ replacement: SegmentReplacement) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("SADD", keys.segments, replacement.name)
    _ = try await run(pipeline)
    return try await putInForce(replacement, keepingTimesFor: nil)
  }

  /// Replaces the current segment by an imported one.
  /// - Parameter seconds: seconds until Redis removes the times of membership changes; `nil` for the usual retention.
  @discardableResult
  func putInForce(_ replacement: SegmentReplacement, keepingTimesFor seconds: Int?) async throws -> Bool {
    var isInForce = true
    for partitions in (0..<keys.partitions).batches() {
      var pipeline = RedisPipeline()
      // The script removes the empty member, which marks an import that is not in force yet. If the connection breaks
      // and the script runs a second time, it finds no marker and changes nothing.
      for partition in partitions {
        let key = keys.importing(partition, replacement.name, id: replacement.id)
        pipeline.append("SADD", key, "")
        pipeline.append("EXPIRE", key, SegmentReplacement.timeToLive)
      }
      _ = try await run(pipeline)
      pipeline.removeAll()
      for partition in partitions {
        pipeline.script(
          StoreScripts.putInForce,
          keys: [
            keys.segment(partition, replacement.name),
            keys.importing(partition, replacement.name, id: replacement.id),
            keys.stated(partition, replacement.name), keys.erased(partition),
          ] + suppressionKeys(partition, replacement.name)
        ) {
          $0.append(replacement.at)
          if let seconds { $0.append(seconds) } else { $0.append("") }
          $0.append(replacement.began)
        }
      }
      for reply in try await run(pipeline) where reply.integer == 0 { isInForce = false }
    }
    return isInForce
  }

  /// Deletes an import. The current segment stays.
  public func discard(_ replacement: SegmentReplacement) async throws {
    var pipeline = RedisPipeline()
    for partition in replacement.partitions {
      pipeline.append("UNLINK", keys.importing(partition, replacement.name, id: replacement.id))
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
  }
}

/// A segment that is being imported, to replace the current one as a whole.
public struct SegmentReplacement: Sendable {
  /// Name of the segment or suppression list.
  public let name: String
  /// Random id that separates the keys of simultaneous imports.
  let id = String(UInt64.random(in: .min ... .max), radix: 36)
  /// The time as of which the list is valid, in ms since the epoch.
  let at: Int
  /// Time at which the import began, in ms since the epoch by Redis' clock.
  let began: Int
  /// Partitions with imported users.
  var partitions: Set<Int> = []

  /// Seconds after the last call of ``Audiences/add(_:to:)`` until the data of an abandoned import expires: a day.
  static let timeToLive = 86_400

  /// Creates an import.
  ///
  /// - Parameters:
  ///   - name: a name that expressions can contain.
  ///   - instant: time of the list in ms since the epoch.
  ///   - began: start of the import in ms since the epoch.
  fileprivate init(of name: String, at instant: Int, began: Int) {
    self.name = name
    at = instant
    self.began = began
  }
}
