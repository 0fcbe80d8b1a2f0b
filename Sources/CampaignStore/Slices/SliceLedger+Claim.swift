internal import PushCore
import Redis

/// The claim of a slice.
extension SliceLedger {
  /// Claims the slice.
  ///
  /// - Parameters:
  ///   - worker: the worker that claims it.
  ///   - gracePeriod: the remaining ms of the grace period after a failover. During this time, expired claims of other
  ///     workers are still valid.
  /// - Throws: ``StoreError`` `mismatch` if another version has sealed the slice.
  public func claim(worker: String, gracePeriod: Int = 0) async throws -> ClaimAnswer {
    var pipeline = RedisPipeline()
    claim(worker: worker, gracePeriod: gracePeriod, to: &pipeline)
    return try await answer(toClaim: try await store.run(pipeline)[0], worker: worker, gracePeriod: gracePeriod)
  }

  /// Appends the command that claims the slice.
  ///
  /// - Parameter former: the claim that this one replaces; `nil` if the caller knows of none.
  func claim(worker: String, gracePeriod: Int, replacing former: [UInt8]? = nil, to pipeline: inout RedisPipeline) {
    let lists = former.map(unsealedLists) ?? []
    pipeline.script(StoreScripts.claim, keys: [sliceKey, building, targets, departures] + lists) {
      $0.append(claim)
      $0.append(worker)
      $0.append(lease)
      $0.append(gracePeriod)
      $0.append(TargetPage.formatVersion)
      $0.append(Self.buildingLifetime)
      $0.append(TargetPage.size)
      $0.append(former ?? [])
    }
  }

  /// Reads the answer to a claim. If an earlier owner did not finish an expansion, this function claims the slice again
  /// and removes the unsealed lists of that owner.
  func answer(toClaim reply: RedisReply, worker: String, gracePeriod: Int) async throws -> ClaimAnswer {
    switch reply[0].string {
    case "abandoned":
      var pipeline = RedisPipeline()
      claim(worker: worker, gracePeriod: gracePeriod, replacing: Array(reply[1].bytes ?? []), to: &pipeline)
      return try await answer(
        toClaim: try await store.run(pipeline)[0], worker: worker, gracePeriod: gracePeriod)
    case "done": return .finished
    case "held": return .held(milliseconds: reply[1].integer ?? lease)
    case "format":
      guard let version = reply[1].integer, 1...1_000_000 ~= version else { throw await store.repair.inspect(slice) }
      throw StoreError(unreadable: slice, version: version)
    default:
      guard reply.count == 16 else { throw await store.repair.inspect(slice) }
      let count = try await number(reply[2], upTo: StoredHash.maximumTargets)
      return .claimed(
        SliceProgress(
          isSealed: reply[1].string == "sealed", count: count, granted: try await number(reply[3], upTo: count),
          inDoubt: try await number(reply[4], upTo: count), waiting: try await number(reply[5], upTo: count),
          claims: try await number(reply[6], upTo: StoredHash.maximumCounted),
          seal: Array(reply[8].bytes ?? []), version: try await version(reply[9], reply[10]),
          deaths: try await number(reply[11], upTo: StoredHash.maximumCounted),
          bisected: Self.range(reply[12].string ?? "", of: count), later: try await number(reply[13], upTo: count),
          times: try times(reply[14]), departures: try await number(reply[15], upTo: StoredHash.maximumCounted)))
    }
  }

  /// Reads the send times of the targets; `nil` if all may be sent immediately.
  private func times(_ reply: RedisReply) throws -> SendTimes? {
    guard let bytes = reply.bytes, !bytes.isEmpty else { return nil }
    guard let times = SendTimes(Array(bytes)[...]) else {
      throw StoreError(
        .slice(slice),
        "the field times of the key \(String(decoding: sliceKey, as: UTF8.self)) is corrupt: Carillon did not write it")
    }
    return times
  }

  /// Reads the targets that the last worker was sending in its search for a poison target (`bisect.lua`) when it died.
  /// Returns `nil` for an invalid value; the search then starts again.
  private static func range(_ text: String, of count: Int) -> ClosedRange<Int>? {
    let ends = text.split(separator: " ").compactMap { Int($0) }
    return ends.count == 2 && 0 <= ends[0] && ends[0] <= ends[1] && ends[1] < count ? ends[0]...ends[1] : nil
  }

  /// Returns a number that a script has read from the slice. Throws the error of a damaged slice if the number is not
  /// from 0 to `most`.
  func number(_ reply: RedisReply, upTo most: Int) async throws -> Int {
    guard let number = reply.integer, (0...most).contains(number) else { throw await store.repair.inspect(slice) }
    return number
  }

  func version(_ sequence: RedisReply, _ replays: RedisReply) async throws -> SliceVersion {
    SliceVersion(
      sequence: try await number(sequence, upTo: StoredHash.maximumCounted),
      replays: try await number(replays, upTo: StoredHash.maximumCounted))
  }
}
