internal import Dispatch
internal import EventLoop
internal import HTTP2
internal import PushCore
internal import TLS

/// One connection to APNs: its socket, TLS and HTTP/2.
///
/// Thin: it carries bytes, keeps time and says what happened; ``NativeEngine`` decides. Confined to the engine's loop.
final class NativeConnection {
  /// How far it has come.
  private enum Phase {
    case lookingUp, connecting, tunnelling, handshaking, greeting, open, closed
  }

  /// When a silent peer is asked for a sign of life, in nanoseconds.
  struct Liveness {
    /// Silence while pushes wait for answers.
    var busy: UInt64 = 5_000_000_000
    /// Silence while none do. Apple asks for an hour; what dies sooner is the way there, in the tables of others.
    var idle: UInt64 = 60_000_000_000
    /// How long the sign may take.
    var answer: UInt64 = 5_000_000_000
  }

  /// What the engine has decided of it.
  struct Setup {
    var configuration: ConnectionPool.Configuration
    var target: APNsAuthority
    var proxy: APNsAuthority?
    var liveness = Liveness()
    var firstStreamID: Int32 = 1
  }

  /// With what it was opened; it is never used with another.
  let authorization: PushAuthorization
  /// Whether APNs has accepted a push on it; set by the engine.
  var isEstablished = false
  /// Pushes taken from the supply that wait for the connection to take them.
  var waiting: PushBatch.Part?
  /// Why it is of no more use; set once.
  private(set) var failure: NativeFailure?
  /// What APNs has said when it took no more; ``takeGoAway()`` gives it once.
  private var hasNewGoAway = false
  /// When the last answer to a push came.
  var answeredAt: UInt64 = 0
  /// Whether more can be read at once.
  private(set) var isHungry = false
  /// The socket takes nothing more just now.
  private(set) var isBlocked = false

  private let setup: Setup
  private let loop: EventLoop
  private let tls: TLSContext
  private let onReady: @Sendable () -> Void
  private let mayConnect: (_ address: String) -> Bool
  private let input: UnsafeMutableRawBufferPointer
  private var phase = Phase.lookingUp
  private var session: RequestSession?
  private var candidates: ArraySlice<SocketAddress> = []
  private var address: SocketAddress?
  private var socket: Socket?
  private var watcher: SocketWatcher?
  private var tunnel: ProxyTunnel?
  private var stream: TLSStream?
  private var deadline: UInt64
  private var attemptDeadline = UInt64.max
  private var heardAt: UInt64 = 0
  private var pingedAt: UInt64?
  private var goAways = 0

  /// One TLS record (RFC 8446 section 5.1).
  private static let record = 16_384
  /// Records read before answers are looked at: others on the loop get their turn.
  private static let readsPerTurn = 16

  /// Looks the host up, and then connects: ``pump(now:)`` carries it forward.
  ///
  /// - Parameters:
  ///   - input: where bytes are read to; shared with other connections of the loop.
  ///   - onLookedUp: called on the loop with what to pass to ``lookedUp(_:now:)``.
  ///   - onReady: called on the loop when the socket is ready.
  ///   - mayConnect: whether to connect to an address, in numbers; the next one is tried if not.
  init(
    _ setup: Setup, _ authorization: PushAuthorization, tls: TLSContext, loop: EventLoop,
    input: UnsafeMutableRawBufferPointer, now: UInt64,
    onLookedUp: @escaping @Sendable (Result<[SocketAddress], any Error>) -> Void,
    onReady: @escaping @Sendable () -> Void, mayConnect: @escaping (_ address: String) -> Bool
  ) {
    self.setup = setup
    self.authorization = authorization
    self.tls = tls
    self.loop = loop
    self.input = input
    self.onReady = onReady
    self.mayConnect = mayConnect
    deadline = now + setup.configuration.connectTimeout
    let next = setup.proxy ?? setup.target
    // getaddrinfo(3) blocks: off the loop, and anew for every connection.
    DispatchQueue.global().async {
      let result = Result { try SocketAddress.resolve(host: next.host, port: next.port) }
      loop.execute { onLookedUp(result) }
    }
  }

  // MARK: Pushes

  /// Pushes on their way, those that wait and those whose end is to be told included.
  var inFlight: Int { (session?.unfinishedCount ?? 0) + waitingCount }

  /// Pushes that wait for the connection to take them.
  var waitingCount: Int { waiting?.range.count ?? 0 }

  /// Streams that APNs allows, once it has said so.
  var streamLimit: Int { phase == .open ? session?.peerMaxConcurrentStreams ?? 0 : 0 }

  /// Whether no stream can be opened on it any more, though nothing is wrong with it.
  var isExhausted: Bool { session?.isExhausted ?? false }

  /// Whether a push can be sent now.
  func canSend(payloadCount: Int) -> Bool {
    guard phase == .open, !isBlocked, let session else { return false }
    if !session.hasRoom { write(all: false) }
    return !isBlocked && session.canOpen(bodyCount: payloadCount)
  }

  /// Sends a push; call when ``canSend(payloadCount:)``. What it comes to is told by ``nextEnded()``.
  ///
  /// - Returns: `false` when it was not sent, because the connection has failed.
  func send(_ template: PushTemplate, payload: UnsafeRawBufferPointer, tag: UInt64, now: UInt64) -> Bool {
    guard let session else { return false }
    do {
      try session.open(template.template, body: payload, tag: tag, mark: template.generation, now: now)
      return true
    } catch {
      fail(error)
      return false
    }
  }

  /// The next push that has ended.
  func nextEnded() -> RequestSession.Ended? { session?.nextEnded() }

  /// What APNs said when it took no more streams, once for each time that it said so.
  func takeGoAway() -> RequestSession.GoAway? {
    guard hasNewGoAway else { return nil }
    hasNewGoAway = false
    return session?.goAway
  }

  /// Whether APNs takes no more streams.
  var isGoingAway: Bool { session?.goAway != nil }

  /// What it said with that, as far as it is text.
  var goAwayText: String { HeaderText.printable(String(decoding: session?.goAway?.debugData ?? [], as: UTF8.self)) }

  // MARK: Moving bytes

  /// Takes the addresses that were looked up.
  func lookedUp(_ result: Result<[SocketAddress], any Error>, now: UInt64) {
    guard phase == .lookingUp else { return }
    do {
      candidates = try result.get().shuffled()[...]
      connectNext(now, NativeFailure("other connections have every address of \(setup.target.withPort)"))
    } catch { fail(error) }
  }

  /// Reads what is there, or carries the beginning of the connection forward.
  func pump(now: UInt64) {
    isHungry = false
    isBlocked = false
    guard failure == nil else { return }
    do {
      switch phase {
      case .lookingUp, .closed: return
      case .connecting:
        if let error = socket?.connectionError() { return connectNext(now, NativeFailure(error)) }
        heardAt = now
        phase = tunnel == nil ? .handshaking : .tunnelling
        try tunnel == nil ? shakeHands(now) : digTunnel(now)
      case .tunnelling: try digTunnel(now)
      case .handshaking: try shakeHands(now)
      case .greeting, .open: try read(now)
      }
    } catch { fail(error) }
  }

  /// Writes what was made: whole records, or all of it.
  func write(all: Bool) {
    guard failure == nil, !isBlocked, let stream, let session else { return }
    do {
      while true {
        let output = session.output
        guard output.count >= (all ? 1 : Self.record) else { break }
        let record = UnsafeRawBufferPointer(rebasing: output.prefix(Self.record))
        guard case .bytes(let count) = try stream.write(record) else {
          isBlocked = true
          break
        }
        try session.wrote(count)
      }
      watcher?.wantsWrite = isBlocked
      if session.isFinished { fail(NativeFailure("the connection has ended")) }
    } catch {
      // What APNs said before it closed says more than the closing: an alert, a GOAWAY.
      do { try read(heardAt) } catch { fail(error) }
      fail(error)
    }
  }

  /// Looks after time: connecting, silence, pushes without an answer.
  func tick(now: UInt64) {
    guard failure == nil, phase != .closed else { return }
    guard phase == .open, let session else {
      if now >= deadline {
        fail(NativeFailure("could not connect to \(setup.target.withPort) in time"))
      } else if now >= attemptDeadline {
        connectNext(now, NativeFailure("could not connect to \(address.map { "\($0)" } ?? "the server") in time"))
      }
      return
    }
    do {
      try checkLiveness(session, now)
      guard now > setup.configuration.requestTimeout else { return }
      let time = now - setup.configuration.requestTimeout
      if try !session.cancel(openedBefore: time) { fail(NativeFailure("APNs takes no more bytes")) }
    } catch { fail(error) }
  }

  private func checkLiveness(_ session: RequestSession, _ now: UInt64) throws {
    if let pingedAt {
      if heardAt >= pingedAt {
        self.pingedAt = nil
      } else if now - pingedAt >= setup.liveness.answer {
        fail(NativeFailure("APNs didn't answer a PING: the connection is dead"))
      }
      return
    }
    let limit = session.openCount > 0 ? setup.liveness.busy : setup.liveness.idle
    guard now > heardAt, now - heardAt >= limit else { return }
    pingedAt = now
    try session.ping()
    write(all: true)
  }

  // MARK: The beginning

  private func connectNext(_ now: UInt64, _ failure: NativeFailure) {
    leaveAddress()
    guard let next = nextCandidate() else { return fail(failure) }
    do {
      let socket = try Socket.connect(to: next)
      let onReady = onReady
      let watcher = SocketWatcher(socket, on: loop, onReadable: onReady, onWritable: onReady)
      watcher.wantsRead = false
      watcher.wantsWrite = true
      self.socket = socket
      self.watcher = watcher
      address = next
      if let proxy = setup.configuration.endpoint.proxy, setup.proxy != nil {
        tunnel = ProxyTunnel(to: setup.target.withPort, login: proxy.login)
      }
      phase = .connecting
      // What is left of the time is shared by the addresses that are left.
      attemptDeadline = now + (deadline > now ? deadline - now : 0) / UInt64(candidates.count + 1)
    } catch { connectNext(now, NativeFailure(error)) }
  }

  private func leaveAddress() {
    watcher?.close()
    watcher = nil
    socket = nil
    address = nil
  }

  private func nextCandidate() -> SocketAddress? {
    while let next = candidates.popFirst() {
      // Of a proxy there is one.
      if setup.proxy != nil || mayConnect(next.host) { return next }
    }
    return nil
  }

  private func digTunnel(_ now: UInt64) throws {
    guard let socket else { return }
    if let wait = try tunnel?.advance(over: socket) { return watch(for: wait) }
    tunnel = nil
    phase = .handshaking
    try shakeHands(now)
  }

  private func shakeHands(_ now: UInt64) throws {
    guard let socket else { return }
    let stream = try self.stream ?? TLSStream(socket, context: tls, serverName: setup.target.host)
    self.stream = stream
    if let wait = try stream.handshake() { return watch(for: wait) }
    watch(for: .wantsRead)
    // Without ALPN, HTTP/2 is spoken all the same: APNs serves nothing else.
    if let name = stream.negotiatedProtocol, name != "h2" {
      throw NativeFailure("\(setup.target.withPort) speaks \(name), not HTTP/2")
    }
    var settings = HTTP2Settings()
    settings.enablePush = false
    session = try RequestSession(
      capacity: setup.configuration.maximumStreams, settings: settings, firstStreamID: setup.firstStreamID)
    phase = .greeting
    write(all: true)
    try read(now)
  }

  private func watch(for wait: IOResult) {
    if wait == .closed { return fail(NativeFailure("\(setup.target.withPort) closed the connection")) }
    watcher?.wantsRead = wait == .wantsRead
    watcher?.wantsWrite = wait == .wantsWrite
  }

  // MARK: The middle

  private func read(_ now: UInt64) throws {
    guard let stream, let session else { return }
    for _ in 0..<Self.readsPerTurn {
      switch try stream.read(into: input) {
      case .bytes(let count):
        heardAt = now
        try session.receive(UnsafeRawBufferPointer(rebasing: input[..<count]))
        if session.goAwayCount != goAways {
          goAways = session.goAwayCount
          hasNewGoAway = true
        }
        // APNs says first how many streams it takes; before that, nothing is sent.
        if phase == .greeting, session.hasReceivedSettings { phase = .open }
      case .wantsRead, .wantsWrite: return
      case .closed: throw NativeFailure("\(setup.target.withPort) closed the connection")
      }
    }
    isHungry = true
  }

  // MARK: The end

  private func fail(_ error: any Error) {
    guard failure == nil else { return }
    failure = NativeFailure(error)
    session?.abandon()
  }

  /// Closes it, in order if it can be; what is unanswered ends, and is told by ``nextEnded()``. Idempotent.
  func close() {
    guard phase != .closed else { return }
    if failure == nil, let stream, let session {
      session.abandon()
      // Best effort: APNs sees the end of the connection in any case.
      session.finish()
      if session.output.count <= Self.record, !isBlocked { _ = try? stream.write(session.output) }
      stream.finishWriting()
    }
    phase = .closed
    leaveAddress()
  }
}
