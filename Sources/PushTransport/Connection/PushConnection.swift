internal import EventLoop
internal import PushCore

/// One connection to the service over one transport. It sends pushes and reports facts; the ``ConnectionDriver`` makes
/// the decisions. The connection is confined to the loop of its engine, and only the engine calls it.
protocol PushConnection: AnyObject {
  /// Event that reaches the connection from its loop, such as a readable socket.
  associatedtype Event: Sendable

  /// Authorization with which the connection was opened. The connection is never used with another authorization.
  var authorization: PushAuthorization { get }
  /// Whether a push was accepted on the connection. The engine sets this.
  var isEstablished: Bool { get set }
  /// Number of pushes that were handed to the connection and not yet begun.
  var waitingCount: Int { get }
  /// Room for further pushes.
  var room: StreamRoom { get }
  /// Condition of the connection.
  var condition: ConnectionCondition { get }
  /// Whether ``run(now:)`` has work to do immediately.
  var isDue: Bool { get }

  /// Records an event; a call of ``run(now:)`` follows.
  func handle(_ event: Event, now: UInt64)
  /// Does all work that is possible without waiting.
  ///
  /// - Returns: the time to use as the arrival time of the answers that this call has read.
  func run(now: UInt64) -> UInt64
  /// Checks timeouts; called every ``PushConnector/tickInterval``.
  func tick(now: UInt64)
  /// Sends pushes, each immediately or as soon as possible. Each push ends once in ``takeEnded(_:_:now:)``.
  func send(_ part: PushBatch.Part, with authorization: PushAuthorization, now: UInt64)
  /// Whether the connection could now send pushes that it has not begun.
  var canResume: Bool { get }
  /// Begins as many as possible of the pushes that the connection has not begun.
  func resume(with authorization: PushAuthorization, now: UInt64)
  /// Returns the pushes that the connection has not begun to send. They end as not sent.
  func giveBack()
  /// Writes the collected bytes, after all pushes of the turn were handed over.
  func flush()
  /// Does the work that is due once at the end of each turn, such as arming a timer.
  func endTurn()
  /// Appends each push that has ended since the last call to both lists, in the same order. One call handles many
  /// pushes, so that no push needs a dynamic call of its own.
  func takeEnded(_ completions: inout [PushCompletion], _ ended: inout [EndedPush], now: UInt64)
  /// Returns the reason why the first push since the last call was lost; `nil` if none was lost.
  func takeLossReason() -> String?
  /// Stops taking pushes. The connection returns pushes that it has not begun to send.
  func retire()
  /// Ends all pushes without waiting for their answers.
  func abandon()
  /// Closes the connection. After this call, no push is in flight. Idempotent.
  func close()
}

/// Connector that makes connections over one transport and holds their shared state.
protocol PushConnector: Sendable {
  associatedtype Connection: PushConnection

  /// Nanoseconds between two calls of ``PushConnection/tick(now:)``; `nil` for none.
  var tickInterval: UInt64? { get }
  /// Whether connections of this transport detect that they are dead while no push is in flight.
  var findsDeadConnections: Bool { get }
  /// Begins to open a connection.
  ///
  /// - Throws: an error if a local problem makes a connection impossible; never for a network problem.
  mutating func connect(
    _ authorization: PushAuthorization, _ context: ConnectionContext<Connection.Event>, now: UInt64
  ) throws -> Connection
}

/// Resources and callbacks that an engine gives to a connection.
struct ConnectionContext<Event: Sendable> {
  /// Loop on which the connection works.
  let loop: EventLoop
  /// Callback for events, called on the loop and never during a call of the engine.
  let onEvent: @Sendable (Event) -> Void
  /// Callback for answers of the service about the credential.
  let onCredentialEvent: (CredentialEvent) -> Void
  /// Callback that returns whether to connect to a numeric address. If it returns false, the connection tries the next
  /// address.
  let mayConnect: (_ address: String) -> Bool
}

/// Facts about the end of a push that concern its connection. The type is small, because each push has one.
struct EndedPush {
  /// Time when the connection began to send the push, in monotonic nanoseconds. If it never began: the time when it got
  /// the push.
  var sentAt: UInt64
  /// Generation of the authorization with which the push was sent (``PushAuthorization/generation``).
  var generation: Int
  /// Reason why the push got no answer; empty for an answer, and for a reason that does not concern the connection.
  var loss: Loss = []
}
