/// Knobs turned by the clock: a script of what a bad day at APNs looks like.
public struct SimulatorTimeline: Equatable, Sendable {
  /// Something done to all connections at once.
  public enum Action: String, Codable, Sendable {
    /// Every push connection gets GOAWAY, as for a restart.
    case goAway
    /// Counting begins anew.
    case reset
  }

  /// What happens at one time.
  public struct Event: Equatable, Sendable {
    /// Seconds after the timeline began.
    public var at: Double
    /// Seconds until it happens again, and again; 0 lets it happen once.
    public var every: Double
    /// A JSON object of knobs, as for `PUT /knobs`; empty turns none.
    public var knobs: [UInt8]
    /// What is done besides, after the knobs are turned.
    public var action: Action?

    /// - Parameters:
    ///   - at: seconds after the timeline began.
    ///   - every: seconds until it happens again, and again; 0 lets it happen once.
    ///   - knobs: a JSON object of knobs.
    ///   - action: what is done besides.
    public init(at: Double, every: Double = 0, knobs: [UInt8] = [], action: Action? = nil) {
      self.at = at
      self.every = every
      self.knobs = knobs
      self.action = action
    }
  }

  /// In order of their times.
  public private(set) var events: [Event]

  /// The shortest period: what is turned faster nobody sees.
  private static let shortestPeriod = 0.01
  /// Seconds that a time or a period has at most, a year: nobody waits for more, and its nanoseconds still fit into 63 bits.
  private static let longest = 31_536_000.0
  private static let fields: Set<String> = ["at", "every", "knobs", "action"]

  /// - Parameter events: in any order.
  public init(_ events: [Event]) { self.events = events.sorted { $0.at < $1.at } }

  /// Reads `[{"at":5,"knobs":{"streamLimit":1}},{"at":6,"every":2,"knobs":{…}},{"at":10,"action":"goAway"}]`.
  ///
  /// - Throws: a ``SimulatorKnobs/PatchError`` that names the event and what is wrong with it.
  public init(json: [UInt8]) throws(SimulatorKnobs.PatchError) {
    guard let list = JSON.read(json) as? [[String: Any]] else {
      throw SimulatorKnobs.PatchError(
        description: #"a JSON array of events is expected, such as [{"at":5,"knobs":{"streamLimit":1}}]"#)
    }
    var events: [Event] = []
    for (index, object) in list.enumerated() {
      do {
        events.append(try Self.event(object))
      } catch {
        throw SimulatorKnobs.PatchError(description: "event \(index + 1): \(error)")
      }
    }
    self.init(events)
  }

  private static func event(_ object: [String: Any]) throws(SimulatorKnobs.PatchError) -> Event {
    func fail(_ text: String) -> SimulatorKnobs.PatchError { SimulatorKnobs.PatchError(description: text) }
    if let unknown = object.keys.sorted().first(where: { !fields.contains($0) }) {
      throw fail("no field \(unknown); there are \(fields.sorted().joined(separator: ", "))")
    }
    guard let at = object["at"] as? Double, (0...longest).contains(at) else {
      throw fail("at is a number of seconds from the beginning, at most \(Int(longest))")
    }
    var event = Event(at: at)
    if let every = object["every"] {
      guard let every = every as? Double, (shortestPeriod...longest).contains(every) else {
        throw fail("every is a number of seconds from \(shortestPeriod) to \(Int(longest))")
      }
      event.every = every
    }
    if let action = object["action"] {
      event.action = (action as? String).flatMap(Action.init)
      if event.action == nil { throw fail("action is goAway or reset") }
    }
    if let knobs = object["knobs"] {
      guard let json = JSON.write(object: knobs) else { throw fail("knobs is an object") }
      event.knobs = json
      // What can't be done is told now, not in the middle of the night.
      var trial = SimulatorKnobs()
      try trial.apply(json: event.knobs)
    }
    if event.knobs.isEmpty, event.action == nil { throw fail("neither knobs nor action") }
    return event
  }

  /// What is still to come, as the clock goes on. Pure: who plays it tells the time.
  struct Cursor {
    private var waiting: [(due: Double, event: Event)]

    init(_ timeline: SimulatorTimeline) { waiting = timeline.events.map { ($0.at, $0) } }

    /// When the next event is due, in seconds after the beginning; `nil` when none is left.
    var next: Double? { waiting.first?.due }

    /// Takes everything that is due `elapsed` seconds after the beginning, in order. What repeats comes once, however
    /// late it is.
    mutating func take(until elapsed: Double) -> [Event] {
      let due = waiting.prefix { $0.due <= elapsed }
      waiting.removeFirst(due.count)
      for (time, event) in due where event.every > 0 {
        let missed = ((elapsed - time) / event.every).rounded(.down)
        let again = time + (missed + 1) * event.every
        let place = waiting.firstIndex { $0.due > again } ?? waiting.endIndex
        waiting.insert((again, event), at: place)
      }
      return due.map(\.event)
    }
  }
}
