internal import EventLoop
internal import PushCore

/// One connection to the service over one transport: carries pushes and reports facts; what follows from them is the
/// ``ConnectionDriver``'s to say. Confined to the loop of its engine, which is the only one that calls it.
protocol PushConnection: AnyObject {
  /// What happens to it from outside, of concern to nobody else.
  associatedtype Event: Sendable

  /// With what it was opened; it is never used with another.
  var authorization: PushAuthorization { get }
  /// Whether a push was accepted on it; set by the engine.
  var isEstablished: Bool { get set }
  /// Pushes handed to it that it has not begun to send.
  var waitingCount: Int { get }
  /// What it has room for.
  var room: StreamRoom { get }
  /// What it knows of itself.
  var condition: ConnectionCondition { get }
  /// Whether ``run(now:)`` has something to do at once.
  var isDue: Bool { get }

  /// Takes in what has happened; ``run(now:)`` follows.
  func handle(_ event: Event, now: UInt64)
  /// Does what can be done without waiting.
  ///
  /// - Returns: the time by which answers that it has read are measured.
  func run(now: UInt64) -> UInt64
  /// Looks after time; called every ``PushConnector/tickInterval``.
  func tick(now: UInt64)
  /// Sends pushes, each at once or as soon as it can be; each ends once by ``takeEnded(_:_:now:)``.
  func send(_ part: PushBatch.Part, with authorization: PushAuthorization, now: UInt64)
  /// Whether pushes that it has not begun could be sent now.
  var canResume: Bool { get }
  /// Sends what it has not begun, as far as it goes.
  func resume(with authorization: PushAuthorization, now: UInt64)
  /// Everything that is to be sent for now was handed over: it may write what it has collected.
  func flush()
  /// The turn is over.
  func rest()
  /// Adds the pushes that have ended to both lists, each once. Many at a time, so that nothing is dispatched for one.
  func takeEnded(_ completions: inout [PushCompletion], _ ended: inout [EndedPush], now: UInt64)
  /// Why the first push was lost since this was asked, in words; `nil` if none was.
  func takeTrouble() -> String?
  /// It gets no more pushes. What it can take back comes back unsent.
  func retire()
  /// Ends every push there is, as it is.
  func abandon()
  /// Closes it; nothing is on its way any more. Idempotent.
  func close()
}

/// Makes connections over one transport, and keeps what they share.
protocol PushConnector: Sendable {
  associatedtype Connection: PushConnection

  /// Nanoseconds between two calls of ``PushConnection/tick(now:)``; `nil` for none.
  var tickInterval: UInt64? { get }
  /// Whether its connections find out by themselves that they are dead while no push is on its way.
  var findsDeadConnections: Bool { get }
  /// Begins to open a connection.
  ///
  /// - Throws: when there is no use in trying: of what is wrong here, not of the way there.
  mutating func connect(
    _ authorization: PushAuthorization, _ surroundings: ConnectionSurroundings<Connection.Event>, now: UInt64
  ) throws -> Connection
}

/// What a connection is given by its engine.
struct ConnectionSurroundings<Event: Sendable> {
  /// On which it works.
  let loop: EventLoop
  /// Called on the loop with what has happened, not from within a call of the engine.
  let happened: @Sendable (Event) -> Void
  /// Called with what the service says of the credential.
  let learned: (CredentialEvent) -> Void
  /// Whether to connect to an address, in numbers; the next one is tried if not.
  let mayConnect: (_ address: String) -> Bool
}

/// What the end of a push says of its connection. Small and plain: there is one for each push.
struct EndedPush {
  /// When the connection began to send it, or else when it was handed over; in monotonic nanoseconds.
  var sentAt: UInt64
  /// Of the credential that it went with.
  var generation: Int
  /// Why it got no answer; empty for an answer, and where that says nothing of the connection.
  var loss: Loss = []
}
