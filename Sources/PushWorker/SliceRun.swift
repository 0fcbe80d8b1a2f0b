import APNs
import CampaignStore
import EventLoop
import PushCore

/// A slice in this worker's hands: what has been granted, sent and answered. Confined to the worker's loop.
final class SliceRun {
  /// Its place in the worker's table.
  let slot: Int
  /// What every tag of this slice begins with: 16 bits of generation, 16 of slot. The index of a target follows.
  let tagBase: UInt64
  let ledger: SliceLedger
  let context: CampaignContext
  /// For the expansion: the store by way of the connection on which the slice was claimed.
  let expanding: CampaignStore
  var intent = SliceSituation.Intent.send
  /// Whether its targets are known.
  private(set) var isReady = false
  /// Credit of the worker's budget that this slice holds.
  var credit = 0
  var count = 0
  /// The high-water mark as Redis last told it.
  var granted = 0
  /// Handed to the pool and not answered.
  var unanswered = 0
  /// Answered, but held back by the campaign's guard; still under way, and their credit still lent.
  var held: [HeldAnswer] = []
  /// In doubt, and not to be sent while other suspects are being tried.
  var setAside: [GrantedTarget] = []
  /// In doubt by an earlier owner, or by a reply that was lost; yet to be sent again.
  var doubt: [GrantedTarget] = []
  /// Whether the doubt is another worker's: what Redis granted and we never heard of was certainly not sent.
  var doubtIsInherited = false
  /// Targets in doubt that have been sent again, yet to be counted in the ledger.
  var resent = 0
  var waiting = 0
  /// `EventLoop.now` of the nearest retry.
  var nextRetry: UInt64?
  var renewAt: UInt64 = 0
  /// What Redis holds may be other than what we heard: which targets are in doubt is to be read before more is asked for.
  var mustReconcile = false
  /// Redis has forgotten something that it had acknowledged: it is to be told again first.
  var mustReplay = false
  /// The name of the list of targets.
  var seal: [UInt8] = []
  /// How often the slice has been written to, as Redis last told it.
  var version = SliceVersion()
  /// Credit that a commit asked for whose answer was lost: Redis may have granted it.
  var uncertain = 0
  /// How the slice was closed, once it has been.
  var ending: Closing?
  var journal = SliceJournal()
  /// The search for the target that kills its workers, while there is one.
  var hunt: PoisonHunt?
  /// Where the last such search stood when this slice was claimed.
  var suspicion: Suspicion?
  /// Outcomes to record, in batches of which the first is the oldest.
  private var batches: [OutcomeBatch] = [OutcomeBatch()]
  private(set) var pending = 0
  private var pendingSince: UInt64 = 0
  /// Attempts of targets under way that are not the first; rare, so a dictionary is affordable.
  private var attempts: [Int: (attempt: UInt8, free: UInt8)] = [:]
  /// A bit for every target that is under way: a completion without one is not ours to count.
  private var underWay: [UInt64] = []
  /// A bit for every target whose outcome is known here and not yet to Redis, where it still reads as granted.
  private var unrecorded: [UInt64] = []
  private var chunks: [TargetChunk?] = []
  /// Targets under way in each chunk.
  private var live: [Int] = []
  private var waiter: CheckedContinuation<Void, Never>?

  /// What a claim says of a slice that has killed its workers.
  struct Suspicion {
    var deaths: Int
    var trial: ClosedRange<Int>?
  }

  /// Targets read at once; a power of two near the size of a batch.
  static let chunkSize = 512

  init(slot: Int, generation: UInt16, ledger: SliceLedger, context: CampaignContext, expanding: CampaignStore) {
    self.slot = slot
    tagBase = UInt64(generation) << 48 | UInt64(slot) << 32
    self.ledger = ledger
    self.expanding = expanding
    self.context = context
  }

  /// Takes note of how far the slice is, once it is sealed.
  func adopt(count: Int, granted: Int, waiting: Int) {
    isReady = true
    self.count = count
    self.granted = granted
    self.waiting = waiting
    nextRetry = waiting > 0 ? 0 : nil
    let chunkCount = (count + Self.chunkSize - 1) / Self.chunkSize
    underWay = Array(repeating: 0, count: (count + 63) / 64)
    unrecorded = underWay
    chunks = Array(repeating: nil, count: chunkCount)
    live = Array(repeating: 0, count: chunkCount)
  }

  func situation(credit: Int, window: Int, lease: UInt64, now: UInt64) -> SliceSituation {
    var situation = SliceSituation()
    situation.intent = intent
    situation.isForgotten = mustReplay
    situation.pending = pending
    situation.pendingAge = pending > 0 ? Int((now - pendingSince) / 1_000_000) : 0
    situation.unanswered = unanswered
    situation.held = held.count
    situation.isProbing = context.guard.isProbing || context.pool.isInStorm
    situation.mayMoreCome = context.guard.isProbing && !context.probe.isQuiet(now: now, lease: lease)
    situation.doubt = doubt.count
    situation.ungranted = count - granted
    situation.waiting = waiting
    situation.nextRetry = nextRetry.map { $0 > now ? Int(($0 - now) / 1_000_000) + 1 : 0 }
    situation.credit = credit
    situation.window = window
    situation.isSuspect = hunt != nil
    situation.renews = now >= renewAt
    return situation
  }

  /// Targets that could be sent at once.
  func sendable(_ now: UInt64) -> Int {
    count - granted + doubt.count + setAside.count + (nextRetry.map { $0 <= now } ?? false ? waiting : 0)
  }

  // MARK: Waiting

  /// Suspends until ``wake()``.
  func sleep(isolation: isolated (any Actor)? = #isolation) async {
    await withCheckedContinuation { waiter = $0 }
  }

  func wake() {
    waiter?.resume()
    waiter = nil
  }

  // MARK: Outcomes

  /// The batch that answers go to; a new one when the last is full.
  func record(_ now: UInt64, _ body: (inout OutcomeBatch) -> Void) {
    if batches[batches.count - 1].count >= SliceSituation.fullBatch { batches.append(OutcomeBatch()) }
    body(&batches[batches.count - 1])
    if pending == 0 { pendingSince = now }
    pending += 1
  }

  /// The oldest outcomes, to be recorded now.
  func takeBatch(_ now: UInt64) -> OutcomeBatch {
    let batch = batches.removeFirst()
    if batches.isEmpty { batches.append(OutcomeBatch()) }
    pending -= batch.count
    pendingSince = now
    return batch
  }

  /// Puts a batch back that could not be recorded.
  func putBack(_ batch: OutcomeBatch) {
    batches.insert(batch, at: 0)
    pending += batch.count
  }

  // MARK: Targets

  /// The attempt that is under way, counted from 0, and how many of those before it were free.
  func attempt(of index: Int) -> (attempt: UInt8, free: UInt8) {
    attempts.isEmpty ? (0, 0) : attempts[index] ?? (0, 0)
  }

  func isUnderWay(_ index: Int) -> Bool {
    index / 64 < underWay.count && underWay[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  /// Whether Redis has yet to be told what became of a target.
  func isUnrecorded(_ index: Int) -> Bool {
    index / 64 < unrecorded.count && unrecorded[index / 64] >> UInt64(index % 64) & 1 == 1
  }

  /// Takes note that an outcome is on its way to Redis.
  func markUnrecorded(_ index: Int) {
    unrecorded[index / 64] |= 1 << UInt64(index % 64)
  }

  /// Takes note that Redis has acknowledged outcomes.
  func markRecorded(_ batch: OutcomeBatch) {
    batch.forEachIndex { unrecorded[$0 / 64] &= ~(1 << UInt64($0 % 64)) }
  }

  /// What is under way has been granted once more, by a commit of which we had not heard: its answer is to that.
  func renumber(_ index: Int, attempt: UInt8, free: UInt8) {
    if attempt > self.attempt(of: index).attempt { attempts[index] = (attempt, free) }
  }

  func begin(_ index: Int, attempt: UInt8, free: UInt8) {
    underWay[index / 64] |= 1 << UInt64(index % 64)
    live[index / Self.chunkSize] += 1
    if attempt > 0 { attempts[index] = (attempt, free) }
  }

  /// Takes a target out of those under way, once its answer has been recorded locally.
  func end(_ index: Int) {
    underWay[index / 64] &= ~(1 << UInt64(index % 64))
    markUnrecorded(index)
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

  /// Reads the chunks that have these targets, where that has not happened yet.
  func load(_ indexes: some Collection<Int>, isolation: isolated (any Actor)? = #isolation) async throws {
    // What was read may be let go while more is being read, so this looks again until nothing is missing.
    while let index = indexes.first(where: { chunks[$0 / Self.chunkSize] == nil }) {
      let number = index / Self.chunkSize
      chunks[number] = try await ledger.targets(from: number * Self.chunkSize, count: Self.chunkSize)
    }
  }
}
