/// A script of knob changes over time, for example of a disturbance at APNs.
public struct SimulatorTimeline: Equatable, Sendable {
  /// An action on all connections.
  public enum Action: String, Codable, Sendable {
    /// Send GOAWAY on every push connection, as for a restart.
    case goAway
    /// Reset the counts.
    case reset
  }

  /// A change at one time.
  public struct Event: Equatable, Sendable {
    /// Seconds after the start of the timeline.
    public var at: Double
    /// Period of repetition in seconds; 0 for a single event.
    public var every: Double
    /// A JSON object of knobs, as for `PUT /knobs`; empty for no change.
    public var knobs: [UInt8]
    /// An additional action after the knobs are changed.
    public var action: Action?

    /// - Parameters:
    ///   - at: seconds after the start of the timeline.
    ///   - every: period of repetition in seconds; 0 for a single event.
    ///   - knobs: a JSON object of knobs.
    ///   - action: an additional action.
    public init(at: Double, every: Double = 0, knobs: [UInt8] = [], action: Action? = nil) {
      self.at = at
      self.every = every
      self.knobs = knobs
      self.action = action
    }
  }

  /// The events in order of their times.
  public private(set) var events: [Event]

  /// The shortest period in seconds. Faster changes would have no visible effect.
  private static let shortestPeriod = 0.01
  /// Maximum time and maximum period in seconds: a year. A year in nanoseconds fits into 63 bits.
  private static let longest = 31_536_000.0
  private static let fields: Set<String> = ["at", "every", "knobs", "action"]

  /// - Parameter events: in any order.
  public init(_ events: [Event]) { self.events = events.sorted { $0.at < $1.at } }

  /// Reads `[{"at":5,"knobs":{"streamLimit":1}},{"at":6,"every":2,"knobs":{…}},{"at":10,"action":"goAway"}]`.
  ///
  /// - Throws: a ``SimulatorKnobs/PatchError`` with the number of the event and the problem.
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
      // The knobs are validated here, so that an error is reported at the start and not when the event is due.
      var trial = SimulatorKnobs()
      try trial.apply(json: event.knobs)
    }
    if event.knobs.isEmpty, event.action == nil { throw fail("neither knobs nor action") }
    return event
  }

  /// The events that are still due. The caller supplies the current time.
  struct Cursor {
    private var waiting: [(due: Double, event: Event)]

    init(_ timeline: SimulatorTimeline) { waiting = timeline.events.map { ($0.at, $0) } }

    /// Due time of the next event in seconds after the start; `nil` after the last event.
    var next: Double? { waiting.first?.due }

    /// Removes and returns all events that are due `elapsed` seconds after the start, in order. A repeated event is
    /// returned once, even if several repetitions are due.
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
