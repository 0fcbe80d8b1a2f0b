private import EventLoop
internal import HTTP2
private import Glibc

/// State that the connections of one event loop share. Confined to that loop.
final class LoopState {
  /// An answer that waits for its due time.
  struct PendingAnswer {
    var connection: Int
    var stream: HTTP2Stream
  }

  /// For each knob that is a share of the requests: the progress towards the next request that it selects
  /// (``EvenShare``).
  struct Shares {
    var failures: [EvenShare] = []
    var exchange: ExchangeFaults
    var fcm: ExchangeFaults
    var fcmFailures: [EvenShare] = []
    var connects = EvenShare()

    init(_ knobs: SimulatorKnobs) {
      exchange = ExchangeFaults(knobs)
      fcm = ExchangeFaults(knobs.fcm)
    }
  }

  /// Maximum number of bytes of one read: a TLS record.
  static let readSize = 16_384
  /// Maximum number of bytes that are collected before a write: four TLS records.
  static let writeSize = 65_536

  let shared: SharedState
  private(set) var rules: Rules
  var tally = Tally()
  var generator: SplitMix64
  var pending = DelayWheel<PendingAnswer>(now: LoopState.milliseconds)
  var shares: Shares
  /// Buffer for TLS reads. A connection processes the bytes before it returns, so all connections can share the buffer.
  let input = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 16)
  /// Buffer in which connections collect output. A connection copies the bytes that it could not write.
  let output = UnsafeMutableRawBufferPointer.allocate(byteCount: writeSize, alignment: 16)
  /// Log lines of received requests that are not in the log file yet; `nil` without a log.
  var log: RequestLogLines?
  /// Seconds since 1970 on the simulator's clock, as of the last event.
  private(set) var now: Int64 = 0

  /// - Parameter number: number of the loop in the simulator.
  init(_ number: Int, shared: SharedState) {
    self.shared = shared
    generator = SplitMix64(seed: shared.configuration.seed &+ UInt64(number))
    rules = Rules(shared.configuration.knobs, version: 1)
    shares = Shares(shared.configuration.knobs)
    log = shared.log.map { RequestLogLines($0) }
    updateClock()
  }

  deinit {
    input.deallocate()
    output.deallocate()
  }

  /// The current knobs.
  var knobs: SimulatorKnobs { rules.knobs }

  /// Applies new rules, for example after a knob was changed. Requests that were checked before keep their result.
  func apply(_ rules: Rules) {
    self.rules = rules
    shares = Shares(rules.knobs)
    updateClock()
  }

  /// Reads the clock once for all requests of one event.
  func updateClock() { now = Int64(time(nil)) + knobs.clockSkewSeconds }

  /// Whether a request must keep its device token in memory, because the log or a knob needs it.
  var wantsTokens: Bool { log != nil || rules.wantsTokens }

  /// Counts a fault that fired.
  func count(_ fault: FaultKind, _ count: Int = 1) { tally.faults[fault, default: 0] += count }

  static var milliseconds: UInt64 { EventLoop.now / 1_000_000 }
}

/// A small random generator for identifiers that need no secrecy.
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
