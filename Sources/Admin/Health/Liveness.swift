import Dispatch
import HTTPServer
import Synchronization

/// Whether the parts without which a process does nothing still make progress.
///
/// A timer looks after them on a Dispatch queue of its own, and `/livez` is answered on the thread of the server: neither
/// needs a part that may be stuck.
public final class Liveness: Sendable {
  /// A part of the process that must make progress.
  public struct Part: Sendable {
    /// The name in the answer of `/livez`.
    let name: String
    /// ns without progress after which it is stuck.
    let deadline: UInt64
    /// Since when it owes an answer, in ns of `DispatchTime`; `nil` while it owes none. Must not block.
    let owes: @Sendable () -> UInt64?
    /// Called by the timer.
    fileprivate let look: @Sendable () -> Void

    /// A part that keeps account itself.
    ///
    /// - Parameters:
    ///   - name: what people call it.
    ///   - deadline: the longest time without progress.
    ///   - owes: since when it owes an answer, in ns of `DispatchTime`; `nil` while it owes none. Must not block.
    public init(_ name: String, within deadline: Duration, owes: @escaping @Sendable () -> UInt64?) {
      self.name = name
      self.deadline = Liveness.nanoseconds(deadline)
      self.owes = owes
      look = {}
    }

    /// A part that is asked again as soon as it has answered.
    ///
    /// - Parameters:
    ///   - name: what people call it.
    ///   - deadline: the longest time until an answer.
    ///   - ask: has the part call the closure when it gets to it. Must not block.
    public init(
      _ name: String, within deadline: Duration,
      asking ask: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    ) {
      let pulse = Pulse()
      self.name = name
      self.deadline = Liveness.nanoseconds(deadline)
      owes = { pulse.asked }
      look = { if pulse.begin() { ask { pulse.end() } } }
    }

    /// The threads on which Swift runs tasks: there are as many as cores, and tasks that block hold them.
    public static func executor(within deadline: Duration) -> Part {
      Part("Swift's executor", within: deadline) { answer in
        Task.detached { answer() }
      }
    }
  }

  /// The time of a question that has no answer yet.
  private final class Pulse: Sendable {
    private let state = Mutex<UInt64?>(nil)

    var asked: UInt64? { state.withLock { $0 } }

    /// - Returns: false when the question before has no answer yet.
    func begin() -> Bool {
      state.withLock { state in
        guard state == nil else { return false }
        state = Liveness.now
        return true
      }
    }

    func end() { state.withLock { $0 = nil } }
  }

  /// `@unchecked Sendable` is sound because a Dispatch source may be cancelled from any thread (dispatch_source_create(3)), and
  /// nothing else is done to it once it runs.
  private struct Timer: @unchecked Sendable {
    let source: any DispatchSourceTimer
  }

  /// Seconds between two questions to a part: what is stuck is noticed a second after its deadline at the latest.
  private static let interval = 1

  private let parts: [Part]
  private let timer: Timer

  /// Looks after the parts from now on, until it is released.
  public init(_ parts: [Part]) {
    self.parts = parts
    let source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "liveness"))
    source.setEventHandler {
      for part in parts { part.look() }
    }
    source.schedule(deadline: .now(), repeating: .seconds(Self.interval), leeway: .milliseconds(100))
    source.resume()
    timer = Timer(source: source)
  }

  deinit { timer.source.cancel() }

  /// The parts that have made no progress within their deadline, each with its time; empty if there are none.
  var stuck: [String] {
    let now = Self.now
    return parts.compactMap { part in
      guard let since = part.owes(), now > since, now - since > part.deadline else { return nil }
      return "\(part.name) for \((now - since) / 1_000_000_000) s"
    }
  }

  /// Whether everything makes progress.
  public var isAlive: Bool { stuck.isEmpty }

  /// `GET /livez`: 200, or 503 with the parts that are stuck. Needs no token.
  public var route: Route {
    .probe("/livez") { [self] in
      let stuck = stuck
      return stuck.isEmpty
        ? .init(200, "ok\n", type: "text/plain")
        : .init(503, "no progress: \(stuck.joined(separator: ", "))\n", type: "text/plain")
    }
  }

  fileprivate static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  fileprivate static func nanoseconds(_ duration: Duration) -> UInt64 { UInt64(max(0, duration / .nanoseconds(1))) }
}
