internal import Dispatch
internal import EventLoop
internal import HTTP2
internal import TLS

/// One event loop with its share of the connections.
actor SimulatorLoop {
  /// What a connection is accepted for.
  enum Purpose: Sendable {
    case push
    case control(ControlService)
  }

  /// How long a connection that said GOAWAY waits for its client to close.
  private static let linger = DispatchTimeInterval.seconds(2)
  /// Bytes of request bodies under way on a control connection: device lists are long.
  private static let controlWindow: Int32 = 8 << 20

  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private struct Member {
    var connection: Connection
    var watcher: SocketWatcher
    var socket: Socket
  }

  private let state: LoopState
  private let tls: TLSContext
  private var members: [Int: Member] = [:]
  /// Goes up by the number of loops, so that no two connections of a simulator have one number.
  private var nextID: Int
  private let stride: Int
  private var timer: LoopTimer?
  private var isTicking = false
  private var isClosed = false

  init(_ number: Int, of count: Int, shared: SharedState, tls: TLSContext) {
    loop = EventLoop(label: "apns-simulator.\(number)")
    nextID = number - count + 1
    stride = count
    state = LoopState(shared: shared)
    self.tls = tls
  }

  // MARK: Connections

  /// Takes an accepted socket over.
  func adopt(_ socket: sending Socket, for purpose: Purpose) {
    guard !isClosed else { return }
    nextID += stride
    let id = nextID
    do {
      let stream = try TLSStream(socket, context: tls)
      let watcher = SocketWatcher(
        socket, on: loop,
        onReadable: { [weak self] in self?.assumeIsolated { $0.pump(id) } },
        onWritable: { [weak self] in self?.assumeIsolated { $0.pump(id) } })
      let connection = Connection(tls: stream, loop: state) { [state, weak self] stream in
        try Self.role(of: id, for: purpose, on: stream, state, self)
      }
      members[id] = Member(connection: connection, watcher: watcher, socket: socket)
      state.tally.openConnections += 1
      pump(id)
    } catch {
      // OpenSSL or nghttp2 is out of memory; the client sees its connection closed.
      socket.close()
    }
  }

  /// What a connection is from when its handshake is done, when it is known whose it is.
  private static func role(
    of id: Int, for purpose: Purpose, on stream: TLSStream, _ state: LoopState, _ loop: SimulatorLoop?
  ) throws -> (HTTP2Session, any ConnectionRole) {
    switch purpose {
    case .push:
      let certificate = stream.peerCertificate
      return try PushRole.open(
        connection: id, certificate: certificate, address: PeerAddress.text(of: stream.descriptor), loop: state)
    case .control(let service):
      var settings = HTTP2Settings()
      settings.initialWindowSize = UInt32(controlWindow)
      let session = try HTTP2Session(role: .server, settings: settings, connectionWindow: controlWindow)
      return (session, ControlRole(connection: id, session: session, service: service, loop: loop))
    }
  }

  private func pump(_ id: Int) {
    guard let member = members[id] else { return }
    state.updateClock()
    do {
      switch try member.connection.pump() {
      case .waiting: break
      case .hungry: loop.execute { [weak self] in self?.assumeIsolated { $0.pump(id) } }
      case .finished: return close(id)
      }
      settle(id, member)
    } catch ConnectionCut.reset {
      member.socket.resetOnClose()
      close(id)
    } catch {
      // A failed handshake or a client that breaks the protocol: what it gets is a closed connection.
      close(id)
    }
    tickIfNeeded()
  }

  private func settle(_ id: Int, _ member: Member) {
    member.watcher.wantsWrite = member.connection.wantsWrite
    guard member.connection.isLeaving, !member.connection.isAwaited else { return }
    member.connection.isAwaited = true
    loop.queue.asyncAfter(deadline: .now() + Self.linger) { [weak self] in
      self?.assumeIsolated { $0.close(id) }
    }
  }

  private func close(_ id: Int) {
    guard let member = members.removeValue(forKey: id) else { return }
    member.watcher.close()
    member.connection.abandon()
    // Requests may have come right before the end; a failure comes back with the next answer.
    try? state.log?.flush()
    state.tally.openConnections -= 1
  }

  /// Writes what was submitted to connection `id` outside of its own events.
  private func flush(_ id: Int) {
    guard let member = members[id] else { return }
    do {
      try member.connection.flush()
      settle(id, member)
    } catch {
      close(id)
    }
  }

  // MARK: Delayed answers

  private func tickIfNeeded() {
    guard state.pending.count > 0, !isTicking else { return }
    isTicking = true
    let timer =
      self.timer
      ?? LoopTimer(on: loop) { [weak self] in
        self?.assumeIsolated { $0.tick() }
      }
    self.timer = timer
    timer.schedule(every: .milliseconds(1))
  }

  private func tick() {
    state.updateClock()
    var touched: Set<Int> = []
    var failed: Set<Int> = []
    state.pending.advance(to: LoopState.milliseconds) { pending in
      guard let role = members[pending.connection]?.connection.role as? PushRole else { return }
      do {
        try role.answer(pending.stream)
        touched.insert(pending.connection)
      } catch {
        failed.insert(pending.connection)
      }
    }
    failed.forEach { close($0) }
    touched.forEach { flush($0) }
    if state.pending.count == 0 {
      isTicking = false
      timer?.disarm()
    }
  }

  // MARK: Control

  /// What this loop has counted.
  var tally: Tally { state.tally }

  /// Starts counting anew.
  func resetTally() { state.tally.reset() }

  /// Changes the knobs; requests judged already keep their verdict.
  func apply(_ rules: Rules) {
    state.obey(rules)
    // A stream limit is announced at once, to connections that have nothing else to say too.
    for id in Array(members.keys) { flush(id) }
  }

  /// Answers a control request.
  func answer(connection id: Int, stream: HTTP2Stream, _ response: ControlResponse) {
    guard let member = members[id], let role = member.connection.role as? ControlRole else { return }
    do {
      try role.answer(stream, response)
      flush(id)
    } catch {
      close(id)
    }
  }

  /// Says GOAWAY on every push connection and takes no more requests on them.
  func leaveAll() {
    for (id, member) in members {
      guard let role = member.connection.role as? PushRole else { continue }
      do {
        try role.leave()
        flush(id)
      } catch {
        close(id)
      }
    }
  }

  /// Closes every connection at once and accepts no more.
  func closeAll() {
    isClosed = true
    for id in Array(members.keys) { close(id) }
    timer?.disarm()
  }
}
