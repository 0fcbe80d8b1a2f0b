import CampaignStore
import PushCore

/// The targets of a slice that are in flight: a pool has the push, or the answer waits for the decision of the guard.
/// Their tokens stay in memory.
struct TargetsInFlight {
  /// A bit for every target in flight. A completion without this bit is ignored.
  private var bits: [UInt64] = []
  /// The attempt and the history of targets in flight, for attempts after the first, and for first attempts with an
  /// ambiguous history (a push that was perhaps sent before). These attempts are rare, so a dictionary is cheap enough.
  private var attempts: [Int: (attempt: UInt8, history: AttemptHistory)] = [:]
  private var chunks: [TargetChunk?] = []
  /// Number of targets in flight in each chunk.
  private var live: [Int] = []
  /// For each chunk, the time of the first grant since the chunk last had no target in flight, in ms since the epoch.
  /// Valid only while the chunk has targets in flight.
  private var granted: [UInt64] = []
  private var count = 0

  /// Number of targets in a chunk, which the worker reads from Redis together: a power of two near the size of a batch.
  static let chunkSize = 512

  /// Allocates the memory for the targets of a slice.
  ///
  /// - Parameter targets: Number of targets of the slice.
  mutating func prepare(for targets: Int) {
    count = targets
    let chunkCount = (targets + Self.chunkSize - 1) / Self.chunkSize
    bits = Array(repeating: 0, count: (targets + 63) / 64)
    chunks = Array(repeating: nil, count: chunkCount)
    live = Array(repeating: 0, count: chunkCount)
    granted = Array(repeating: 0, count: chunkCount)
  }

  /// Returns the attempt in flight, counted from 0, and the history before it.
  func attempt(of index: Int) -> (attempt: UInt8, history: AttemptHistory) {
    attempts.isEmpty ? (0, AttemptHistory()) : attempts[index] ?? (0, AttemptHistory())
  }

  func contains(_ index: Int) -> Bool {
    index / 64 < bits.count && bits[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  /// Returns a time at or before the grant of a target in flight, in ms since the epoch.
  ///
  /// For the targets of a chunk that were granted first, it is the time at which the worker asked for the grant. One time
  /// for each target would cost 8 bytes of memory per push.
  func grantTime(of index: Int) -> UInt64 { granted[index / Self.chunkSize] }

  /// Updates a target in flight for which Redis has granted a later attempt, in a call whose reply was lost. The next
  /// answer for this target then counts for the later attempt.
  mutating func renumber(_ index: Int, attempt: UInt8, history: AttemptHistory) {
    let known = self.attempt(of: index)
    guard attempt > known.attempt else { return }
    var history = history
    history.isAmbiguous = history.isAmbiguous || known.history.isAmbiguous
    attempts[index] = (attempt, history)
  }

  /// Adds a target.
  ///
  /// - Parameter grantedAt: a time at or before the grant, in ms since the epoch.
  mutating func begin(_ index: Int, attempt: UInt8, history: AttemptHistory, grantedAt: UInt64) {
    bits[index / 64] |= 1 << UInt64(index % 64)
    let number = index / Self.chunkSize
    if live[number] == 0 { granted[number] = grantedAt }
    live[number] += 1
    if attempt > 0 || history.isAmbiguous { attempts[index] = (attempt, history) }
  }

  /// Removes a target after its outcome was queued.
  ///
  /// - Parameter granted: Number of granted targets. A fully granted chunk is released when its last target in flight
  ///   ends.
  mutating func end(_ index: Int, granted: Int) {
    bits[index / 64] &= ~(1 << UInt64(index % 64))
    if !attempts.isEmpty { attempts[index] = nil }
    let number = index / Self.chunkSize
    live[number] -= 1
    // A retry reads the chunk again if necessary.
    if live[number] == 0, granted >= min((number + 1) * Self.chunkSize, count) { chunks[number] = nil }
  }

  /// Returns the chunk that contains a target, if it is loaded, and the target's position in it.
  func place(of index: Int) -> (chunk: TargetChunk, position: Int)? {
    chunks[index / Self.chunkSize].map { ($0, index % Self.chunkSize) }
  }

  /// Returns the number of the first chunk that contains one of these targets and is not loaded.
  func missing(_ indexes: some Collection<Int>) -> Int? {
    indexes.first { chunks[$0 / Self.chunkSize] == nil }.map { $0 / Self.chunkSize }
  }

  mutating func keep(_ chunk: TargetChunk, number: Int) { chunks[number] = chunk }
}
