internal import Dispatch
internal import EventLoop
internal import HTTP2
internal import TLS

/// One event loop with its share of the connections.
actor SimulatorLoop {
  /// The purpose of an accepted connection.
  enum Purpose: Sendable {
    case push
    case control(ControlService)
  }

  /// Time that a client has to close a connection after GOAWAY.
  private static let linger = DispatchTimeInterval.seconds(2)
  /// Flow-control window of a control connection in bytes. It is large because device lists are long.
  private static let controlWindow: Int32 = 8 << 20

  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private struct Member {
    var connection: Connection
    var watcher: SocketWatcher
    var socket: Socket
    /// Whether the loop only reads and drops input until the client closes.
    var isDraining = false
    /// Whether the loop leaves the connection untouched until the simulator ends.
    var isSilent = false
    /// Whether the timers for the connection's end are set, if it has any.
    var isAgeing = false
  }

  private let state: LoopState
  private let contexts: ServerContexts
  private var members: [Int: Member] = [:]
  /// Grows by the number of loops, so that connection numbers are unique in a simulator.
  private var nextID: Int
  private let stride: Int
  private var timer: LoopTimer?
  private var isTicking = false
  private var isClosed = false

  init(_ number: Int, of count: Int, shared: SharedState, contexts: ServerContexts) {
    loop = EventLoop(label: "apns-simulator.\(number)")
    nextID = number - count + 1
    stride = count
    state = LoopState(number, shared: shared)
    self.contexts = contexts
  }

  // MARK: Connections

  /// Adopts an accepted socket.
  func adopt(_ socket: sending Socket, for purpose: Purpose) {
    guard !isClosed else { return }
    var knobs = SimulatorKnobs()
    if case .push = purpose {
      knobs = state.knobs
      if state.refusesConnection(from: socket.descriptor) {
        socket.resetOnClose()
        return socket.close()
      }
    }
    nextID += stride
    let id = nextID
    do {
      let stream = try TLSStream(socket, context: try contexts.context(for: knobs))
      let watcher = SocketWatcher(
        socket, on: loop,
        onReadable: { [weak self] in self?.assumeIsolated { $0.pump(id) } },
        onWritable: { [weak self] in self?.assumeIsolated { $0.pump(id) } })
      let connection = Connection(tls: stream, loop: state) { [state, weak self] stream in
        try Self.role(of: id, for: purpose, on: stream, state, self)
      }
      members[id] = Member(connection: connection, watcher: watcher, socket: socket)
      state.tally.openConnections += 1
      begin(id, after: knobs.handshakeDelayMilliseconds)
    } catch {
      // OpenSSL or nghttp2 is out of memory. The client sees that its connection is closed.
      socket.close()
    }
  }

  private func begin(_ id: Int, after delay: Int) {
    guard delay > 0 else { return pump(id) }
    state.note(.handshakeDelayMilliseconds)
    members[id]?.watcher.wantsRead = false
    loop.execute(after: .milliseconds(delay)) { [weak self] in
      self?.assumeIsolated { loop in
        loop.members[id]?.watcher.wantsRead = true
        loop.pump(id)
      }
    }
  }

  /// Creates the session and the role after the handshake, when the client's certificate is known.
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
    if member.isSilent { return }
    if member.isDraining { return drain(id, member.socket) }
    state.updateClock()
    do {
      switch try member.connection.pump() {
      case .waiting: break
      case .hungry: loop.execute { [weak self] in self?.assumeIsolated { $0.pump(id) } }
      case .finished: return close(id)
      }
      watchWrites(of: member, id)
      watchAge(id)
    } catch ConnectionCut.silence {
      member.watcher.wantsRead = false
      member.watcher.wantsWrite = false
      members[id]?.isSilent = true
    } catch ConnectionCut.reset {
      member.socket.resetOnClose()
      close(id)
    } catch {
      // The handshake failed or the client violated the protocol. The simulator closes the connection.
      if member.connection.role == nil { leaveAlert(id, member) } else { close(id) }
    }
    tickIfNeeded()
  }

  /// Drains the connection after a TLS alert: closing with unread bytes would reset the connection, and the reset could
  /// overtake the alert.
  private func leaveAlert(_ id: Int, _ member: Member) {
    member.socket.finishWriting()
    members[id]?.isDraining = true
    closeLater(id)
    drain(id, member.socket)
  }

  private func drain(_ id: Int, _ socket: Socket) {
    do {
      while true {
        switch try socket.read(into: state.input) {
        case .bytes: continue
        case .closed: return close(id)
        case .wantsRead, .wantsWrite: return
        }
      }
    } catch {
      close(id)
    }
  }

  /// Closes the connection after the time that the client has to close it.
  private func closeLater(_ id: Int) {
    loop.execute(after: Self.linger) { [weak self] in
      self?.assumeIsolated { $0.close(id) }
    }
  }

  private func watchWrites(of member: Member, _ id: Int) {
    member.watcher.wantsWrite = member.connection.wantsWrite
    guard member.connection.isLeaving, !member.connection.isAwaited else { return }
    member.connection.isAwaited = true
    closeLater(id)
  }

  private func close(_ id: Int) {
    guard let member = members.removeValue(forKey: id) else { return }
    member.watcher.close()
    member.connection.abandon()
    // Requests may have arrived just before the end. A log failure is thrown again for the next answer.
    try? state.log?.flush()
    state.tally.openConnections -= 1
  }

  /// Writes output that was submitted to connection `id` outside of the connection's own events.
  private func flush(_ id: Int) {
    guard let member = members[id], !member.isSilent else { return }
    do {
      try member.connection.flush()
      watchWrites(of: member, id)
    } catch {
      close(id)
    }
  }

  // MARK: Age

  /// Sets timers for delayed SETTINGS and for the ends of a push connection that need no event of its own.
  private func watchAge(_ id: Int) {
    guard let member = members[id], !member.isAgeing, member.connection.role is PushRole else { return }
    members[id]?.isAgeing = true
    let knobs = state.knobs
    if knobs.settingsDelayMilliseconds > 0 {
      state.note(.settingsDelayMilliseconds)
      loop.execute(after: .milliseconds(knobs.settingsDelayMilliseconds)) { [weak self] in
        self?.assumeIsolated { $0.flush(id) }
      }
    }
    if knobs.connectionSeconds > 0 {
      after(knobs.connectionSeconds) { $0.end(id, .connectionSeconds, because: "Shutdown") }
    }
    if knobs.idleSeconds > 0 { watchIdleness(id, seconds: knobs.idleSeconds, seen: -1) }
  }

  private func watchIdleness(_ id: Int, seconds: Int, seen: Int) {
    guard let role = members[id]?.connection.role as? PushRole else { return }
    let count = role.requestCount
    if count == seen { return end(id, .idleSeconds, because: Reason.idleTimeout.name) }
    after(seconds) { $0.watchIdleness(id, seconds: seconds, seen: count) }
  }

  private func end(_ id: Int, _ fault: FaultKind, because reason: String) {
    guard let role = members[id]?.connection.role as? PushRole else { return }
    state.note(fault)
    do {
      try role.leave(because: reason)
      flush(id)
    } catch {
      close(id)
    }
  }

  private func after(_ seconds: Int, _ body: @escaping @Sendable (isolated SimulatorLoop) -> Void) {
    loop.execute(after: .seconds(seconds)) { [weak self] in self?.assumeIsolated(body) }
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

  /// Counts of this loop.
  var tally: Tally { state.tally }

  /// Resets the counts.
  func resetTally() { state.tally.reset() }

  /// Changes the knobs. Requests that are already judged keep their verdict.
  func apply(_ rules: Rules) {
    state.obey(rules)
    // A stream limit is announced immediately, also on connections without other output.
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

  /// Sends GOAWAY on every push connection and accepts no more requests on them.
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

  /// Closes every connection immediately and accepts no more.
  func closeAll() {
    isClosed = true
    for id in Array(members.keys) { close(id) }
    timer?.disarm()
  }
}
