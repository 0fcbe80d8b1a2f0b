import CampaignStore
import PushCore

/// Which targets of a slice are under way: handed to a pool, or answered and held back. Their tokens are kept meanwhile.
struct TargetsUnderWay {
  /// A bit for every target: a completion without one is not ours to count.
  private var bits: [UInt64] = []
  /// Attempts that are not the first, or of which the first was sent before; rare, so a dictionary is affordable.
  private var attempts: [Int: (attempt: UInt8, history: AttemptHistory)] = [:]
  private var chunks: [TargetChunk?] = []
  /// Targets under way in each chunk.
  private var live: [Int] = []
  private var count = 0

  /// Targets read at once; a power of two near the size of a batch.
  static let chunkSize = 512

  /// - Parameter targets: of the slice.
  mutating func prepare(for targets: Int) {
    count = targets
    let chunkCount = (targets + Self.chunkSize - 1) / Self.chunkSize
    bits = Array(repeating: 0, count: (targets + 63) / 64)
    chunks = Array(repeating: nil, count: chunkCount)
    live = Array(repeating: 0, count: chunkCount)
  }

  /// The attempt that is under way, counted from 0, and what is known of those before it.
  func attempt(of index: Int) -> (attempt: UInt8, history: AttemptHistory) {
    attempts.isEmpty ? (0, AttemptHistory()) : attempts[index] ?? (0, AttemptHistory())
  }

  func contains(_ index: Int) -> Bool {
    index / 64 < bits.count && bits[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  /// What is under way has been granted once more, by a commit of which we had not heard: its answer is to that.
  mutating func renumber(_ index: Int, attempt: UInt8, history: AttemptHistory) {
    let known = self.attempt(of: index)
    guard attempt > known.attempt else { return }
    var history = history
    history.isAmbiguous = history.isAmbiguous || known.history.isAmbiguous
    attempts[index] = (attempt, history)
  }

  mutating func begin(_ index: Int, attempt: UInt8, history: AttemptHistory) {
    bits[index / 64] |= 1 << UInt64(index % 64)
    live[index / Self.chunkSize] += 1
    if attempt > 0 || history.isAmbiguous { attempts[index] = (attempt, history) }
  }

  /// Takes a target out, once its outcome is queued.
  ///
  /// - Parameter granted: the high-water mark: a chunk of which all was granted is let go of with its last target.
  mutating func end(_ index: Int, granted: Int) {
    bits[index / 64] &= ~(1 << UInt64(index % 64))
    if !attempts.isEmpty { attempts[index] = nil }
    let number = index / Self.chunkSize
    live[number] -= 1
    // A retry may need the chunk again: it is read again then.
    if live[number] == 0, granted >= min((number + 1) * Self.chunkSize, count) { chunks[number] = nil }
  }

  /// The chunk that has a target, if it has been read, and the target's position in it.
  func place(of index: Int) -> (chunk: TargetChunk, position: Int)? {
    chunks[index / Self.chunkSize].map { ($0, index % Self.chunkSize) }
  }

  /// The first of these targets whose chunk is yet to be read, as the chunk's number.
  func missing(_ indexes: some Collection<Int>) -> Int? {
    indexes.first { chunks[$0 / Self.chunkSize] == nil }.map { $0 / Self.chunkSize }
  }

  mutating func keep(_ chunk: TargetChunk, number: Int) { chunks[number] = chunk }
}
