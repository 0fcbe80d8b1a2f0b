private import EventLoop
internal import HTTP2
private import Glibc

/// What the connections of one event loop share; confined to that loop.
final class LoopState {
  /// An answer that waits for its time.
  struct PendingAnswer {
    var connection: Int
    var stream: HTTP2Stream
  }

  /// How far each share among the knobs is towards its next request.
  struct Shares {
    var failures: [EvenShare] = []
    var refused = EvenShare()
    var reset = EvenShare()
    var withheld = EvenShare()
    var stalled = EvenShare()
    var connects = EvenShare()
  }

  /// Bytes that one read takes: a TLS record.
  static let readSize = 16_384
  /// Bytes gathered before they are written, four TLS records.
  static let writeSize = 65_536

  let shared: SharedState
  private(set) var rules: Rules
  var tally = Tally()
  var generator: SplitMix64
  var pending = DelayWheel<PendingAnswer>(now: LoopState.milliseconds)
  var shares = Shares()
  /// Connections hand it to TLS for each read and use what came before they return.
  let input = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 16)
  /// Connections gather output here and keep what could not be written.
  let output = UnsafeMutableRawBufferPointer.allocate(byteCount: writeSize, alignment: 16)
  /// What was received and is not in the log yet; `nil` without a log.
  var log: RequestLogLines?
  /// Seconds since 1970 by the simulator's clock, as of the last event.
  private(set) var now: Int64 = 0

  /// - Parameter number: of the loop among those of the simulator.
  init(_ number: Int, shared: SharedState) {
    self.shared = shared
    generator = SplitMix64(seed: shared.configuration.seed &+ UInt64(number))
    rules = Rules(shared.configuration.knobs, version: 1)
    log = shared.log.map { RequestLogLines($0) }
    updateClock()
  }

  deinit {
    input.deallocate()
    output.deallocate()
  }

  /// What can be changed at run time, as it is now.
  var knobs: SimulatorKnobs { rules.knobs }

  /// Goes by other rules from now on; requests judged already keep their verdict.
  func obey(_ rules: Rules) {
    self.rules = rules
    shares = Shares()
    updateClock()
  }

  /// Reads the clock, once for all requests of one event.
  func updateClock() { now = Int64(time(nil)) + knobs.clockSkewSeconds }

  /// Whether requests need to remember their device token.
  var wantsTokens: Bool { log != nil || rules.wantsTokens }

  /// Counts a fault that fired.
  func note(_ fault: FaultKind, _ count: Int = 1) { tally.faults[fault, default: 0] += count }

  static var milliseconds: UInt64 { EventLoop.now / 1_000_000 }
}

/// A small random generator; for identifiers nobody guards.
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
