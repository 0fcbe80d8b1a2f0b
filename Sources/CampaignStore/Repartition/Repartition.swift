import PushCore
import Redis

/// Numbers of the objects that a repartition has moved.
public struct RepartitionTally: Equatable, Sendable {
  /// Users that moved.
  public var users = 0
  /// Tokens whose entry in the owner index moved.
  public var tokens = 0
  /// Users of segments that moved, counted once for each segment.
  public var members = 0
  /// Campaigns that have not begun and got new slices.
  public var campaigns = 0

  /// Creates empty numbers.
  public init() {}
}

/// Changes the number of partitions.
public struct Repartition: StoreRoom {
  let store: CampaignStore

  /// Moves all data to its new partitions, and then stores the new number of partitions. The store must be locked for
  /// this number (``lock(for:)``), without running campaigns and live workers (``obstacles(timeout:)``).
  ///
  /// All data is written to its new place before it is removed from the old one. The move may therefore be interrupted
  /// at any time, and repeated for the same number or another one. A writer that began before the lock may still write
  /// to the old places. Therefore the passes through the store are repeated until a pass moves no data.
  ///
  /// - Parameters:
  ///   - count: the new number of partitions.
  ///   - spread: the number of partitions that may have data, which ``lock(for:)`` returns.
  ///   - progress: called after each partition, with the pass and the number of completed partitions.
  /// - Throws: ``StoreError`` `conflict` if the store is now locked for another number, and errors of `progress`.
  public func change(
    to count: Int, spread: Int, progress: (_ pass: Int, _ done: Int) async throws -> Void = { _, _ in }
  ) async throws -> RepartitionTally {
    guard let wanted = Keyspace(namespace: keys.namespace, partitions: count) else {
      throw StoreError(.invalid, "\(count) is not a valid number of partitions", hint: "choose 1 to 16384")
    }
    var move = RepartitionMove(here: store, destination: store.withPartitions(of: wanted))
    try await move.completePending(0..<spread)
    var (pass, before) = (1, RepartitionTally())
    repeat {
      before = move.tally
      for partition in 0..<spread {
        try await move.marks(of: partition)
        try await move.users(of: partition)
        try await move.retained(of: partition)
        try await move.members(of: partition)
        try await progress(pass, partition + 1)
      }
      // The owner index moves after the users, because the owner's device has the push service of a token. The device
      // must be in its new place first.
      for partition in 0..<spread { try await move.owners(of: partition) }
      pass += 1
    } while move.tally != before
    try await move.campaigns(spread)
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.repartition, keys: [keys.store, keys.epoch, keys.wake]) { $0.append(count) }
    guard try await run(pipeline)[0].integer == 1 else {
      throw StoreError(
        .conflict, "the store is no longer locked for the change to \(count) partitions",
        hint: "check whether another carillon store repartition runs, then run the command again")
    }
    return move.tally
  }
}
