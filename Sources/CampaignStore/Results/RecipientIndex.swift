import PushCore
import Redis

/// The index of a slice's users, which finds the targets of a user. The first receipt for the slice builds it, and it
/// stays as long as the campaign's results. `recipients.lua` describes the format and finds users in the index.
extension Results {
  /// Number of targets in a page.
  private static let indexPage = 4096
  /// Largest part of an index in one command, in bytes.
  private static let indexPart = 64 << 10
  /// Seconds until an index expires that was begun and not completed.
  private static let unfinishedIndex = 600

  /// Returns the hash of a user in the index: 48 bits, so that Lua stores it exactly.
  static func recipientHash(_ user: some Sequence<UInt8>) -> UInt64 {
    Array(user).withUnsafeBytes { recipientDraw.bits($0) >> 16 }
  }

  private static let recipientDraw = UserDraw(salt: "recipient")

  /// Builds the index of a sealed slice. Workers that build it at the same time write the same bytes.
  ///
  /// - Parameter milliseconds: ms until the index expires, if the keys of the slice have no expiry yet.
  func buildRecipientIndex(of slice: SliceReference, keptFor milliseconds: Int) async throws {
    let (partition, id) = (slice.partition, slice.campaign)
    var pipeline = RedisPipeline()
    pipeline.append("HMGET", keys.slice(partition, of: id), "seal", "count")
    pipeline.append("PTTL", keys.slice(partition, of: id))
    let replies = try await run(pipeline)
    guard let seal = replies[0][0].bytes.map(Array.init), let count = replies[0][1].integer else { return }
    let entries = try await recipients(of: slice, count: count)
    let key = keys.recipients(partition, id)
    let building = keys.recipients(partition, id) + ":" + String(UInt64.random(in: .min ... .max), radix: 36)
    var bytes = [UInt8(truncatingIfNeeded: seal.count)] + seal
    bytes.reserveCapacity(bytes.count + entries.count * 10)
    for (hash, index) in entries {
      bytes.append(bigEndian: hash, bytes: 6)
      bytes.append(bigEndian: UInt64(index), bytes: 4)
    }
    for start in stride(from: 0, to: bytes.count, by: Self.indexPart) {
      pipeline.removeAll()
      pipeline.append("SETRANGE", building, start, Array(bytes[start..<min(start + Self.indexPart, bytes.count)]))
      if start == 0 { pipeline.append("EXPIRE", building, Self.unfinishedIndex) }
      _ = try await run(pipeline)
    }
    pipeline.removeAll()
    pipeline.append("RENAME", building, key)
    let left = replies[1].integer ?? -1
    pipeline.append("PEXPIRE", key, left > 0 ? left : milliseconds)
    _ = try await run(pipeline)
  }

  /// Returns the users of a slice's targets, sorted by their hashes.
  private func recipients(of slice: SliceReference, count: Int) async throws -> [(hash: UInt64, index: UInt32)] {
    let ledger = SliceLedger(store: store, slice: slice, lease: 0, app: "")
    var entries: [(hash: UInt64, index: UInt32)] = []
    entries.reserveCapacity(count)
    for first in stride(from: 0, to: count, by: Self.indexPage) {
      let chunk = try await ledger.targets(from: first, count: min(Self.indexPage, count - first))
      for position in 0..<chunk.count where !chunk.user(position).isEmpty {
        entries.append((Self.recipientHash(chunk.user(position)), UInt32(first + position)))
      }
    }
    return entries.sorted { ($0.hash, $0.index) < ($1.hash, $1.index) }
  }
}

extension [UInt8] {
  fileprivate mutating func append(bigEndian number: UInt64, bytes: Int) {
    for place in (0..<bytes).reversed() { append(UInt8(truncatingIfNeeded: number >> UInt64(8 * place))) }
  }
}
