import Dispatch
import HTTPServer
import Synchronization

/// Checks whether the essential parts of a process, such as event loops, make progress.
///
/// A timer on a separate Dispatch queue checks the parts, and the server's thread answers `/livez`. Neither depends on
/// a part that may be stuck.
public final class Liveness: Sendable {
  /// A part of the process that must make progress.
  public struct Part: Sendable {
    /// The name in the answer of `/livez`.
    let name: String
    /// Time in ns without progress after which the part counts as stuck.
    let deadline: UInt64
    /// Returns since when the part has owed an answer, in ns of `DispatchTime`; `nil` if no answer is due. Must not
    /// block.
    let overdueSince: @Sendable () -> UInt64?
    /// Called by the timer every second.
    fileprivate let look: @Sendable () -> Void

    /// Creates a part that measures its progress itself.
    ///
    /// - Parameters:
    ///   - name: the name for operators.
    ///   - deadline: the longest time without progress.
    ///   - overdueSince: returns since when the part has owed an answer, in ns of `DispatchTime`; `nil` if no answer is
    ///     due. Must not block.
    public init(_ name: String, within deadline: Duration, overdueSince: @escaping @Sendable () -> UInt64?) {
      self.name = name
      self.deadline = Liveness.nanoseconds(deadline)
      self.overdueSince = overdueSince
      look = {}
    }

    /// Creates a part that this type asks for an answer every second.
    ///
    /// - Parameters:
    ///   - name: the name for operators.
    ///   - deadline: the longest time until an answer.
    ///   - ask: asks the part to call the closure `answer`; this call proves that the part makes progress. Must not
    ///     block.
    public init(
      _ name: String, within deadline: Duration,
      asking ask: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
    ) {
      let pulse = Pulse()
      self.name = name
      self.deadline = Liveness.nanoseconds(deadline)
      overdueSince = { pulse.asked }
      look = { if pulse.begin() { ask { pulse.end() } } }
    }

    /// Creates a part for the threads on which Swift runs tasks. There is one thread per core, and blocking tasks can
    /// occupy all of them.
    public static func executor(within deadline: Duration) -> Part {
      Part("Swift's executor", within: deadline) { answer in
        Task.detached { answer() }
      }
    }
  }

  /// The time at which a part was asked for an answer. The answer clears the time.
  private final class Pulse: Sendable {
    private let state = Mutex<UInt64?>(nil)

    var asked: UInt64? { state.withLock { $0 } }

    /// Records that the part is asked for an answer now.
    ///
    /// - Returns: `false` if the previous request has no answer yet.
    func begin() -> Bool {
      state.withLock { state in
        guard state == nil else { return false }
        state = Liveness.now
        return true
      }
    }

    func end() { state.withLock { $0 = nil } }
  }

  /// `@unchecked Sendable` is sound because a Dispatch source may be cancelled from any thread
  /// (dispatch_source_create(3)). After the start the source is only cancelled.
  private struct Timer: @unchecked Sendable {
    let source: any DispatchSourceTimer
  }

  /// Interval in seconds at which each part is asked for an answer. A stuck part is detected at most a second after its
  /// deadline.
  private static let interval = 1

  private let parts: [Part]
  private let timer: Timer

  /// Starts checking the parts. The checks end when this object is released.
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

  /// Descriptions of the parts that have made no progress within their deadline, each with the time since its last
  /// progress; empty if there are none.
  var stuck: [String] {
    let now = Self.now
    return parts.compactMap { part in
      guard let since = part.overdueSince(), now > since, now - since > part.deadline else { return nil }
      return "\(part.name) for \((now - since) / 1_000_000_000) s"
    }
  }

  /// Whether all parts make progress.
  public var isAlive: Bool { stuck.isEmpty }

  /// `GET /livez`: 200, or 503 with the stuck parts. Needs no token.
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
