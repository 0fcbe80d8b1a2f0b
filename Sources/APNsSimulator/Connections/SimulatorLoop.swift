internal import Dispatch
internal import EventLoop
internal import HTTP2
internal import TLS

/// One event loop with its share of the connections.
actor SimulatorLoop {
  /// Time that a client has to close a connection after a GOAWAY or a TLS alert. Then the simulator closes it.
  private static let linger = DispatchTimeInterval.seconds(2)

  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private struct Member {
    var connection: Connection
    var watcher: SocketWatcher
    var socket: Socket
    /// Whether the loop only reads and discards input until the client closes the connection.
    var isDraining = false
    /// Whether the loop leaves the connection untouched until the simulator ends.
    var isSilent = false
    /// Whether the timers that end the connection by age or idleness are set.
    var isAgeing = false
  }

  private let state: LoopState
  private let contexts: ServerContexts
  private var members: [Int: Member] = [:]
  /// Number of the next connection. It grows by the number of loops, so that connection numbers are unique in a
  /// simulator.
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

  /// Takes over an accepted socket, and starts its connection.
  func adopt(_ socket: sending Socket, for served: any ServedPort) {
    guard !isClosed else { return }
    guard let greeting = served.greeting(for: socket.descriptor, by: state) else {
      socket.resetOnClose()
      return socket.close()
    }
    nextID += stride
    let id = nextID
    do {
      let stream = try TLSStream(socket, context: try contexts.context(for: greeting.offer))
      let watcher = SocketWatcher(
        socket, on: loop,
        onReadable: { [weak self] in self?.assumeIsolated { $0.process(id) } },
        onWritable: { [weak self] in self?.assumeIsolated { $0.process(id) } })
      let connection = Connection(tls: stream, loop: state) { [state, weak self] stream in
        try served.open(id, on: stream, by: state, in: self)
      }
      members[id] = Member(connection: connection, watcher: watcher, socket: socket)
      state.tally.openConnections += 1
      begin(id, after: greeting.delayMilliseconds)
    } catch {
      // OpenSSL or nghttp2 is out of memory. The simulator closes the connection.
      socket.close()
    }
  }

  private func begin(_ id: Int, after delay: Int) {
    guard delay > 0 else { return process(id) }
    members[id]?.watcher.wantsRead = false
    loop.execute(after: .milliseconds(delay)) { [weak self] in
      self?.assumeIsolated { loop in
        loop.members[id]?.watcher.wantsRead = true
        loop.process(id)
      }
    }
  }

  private func process(_ id: Int) {
    guard let member = members[id] else { return }
    if member.isSilent { return }
    if member.isDraining { return drain(id, member.socket) }
    state.updateClock()
    do {
      switch try member.connection.readAndWrite() {
      case .waiting: break
      case .moreInput: loop.execute { [weak self] in self?.assumeIsolated { $0.process(id) } }
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

  /// Drains the connection after a TLS alert. If the simulator closed it with unread bytes, the system would reset the
  /// connection, and the reset could overtake the alert.
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

  /// Closes the connection after ``linger``, the time in which the client can close it first.
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
    // Logs requests that arrived just before the end. The error is ignored here, because the next answer throws it
    // again.
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

  /// Sets timers for delayed SETTINGS, and for the ends of a connection by age or idleness.
  private func watchAge(_ id: Int) {
    guard let member = members[id], !member.isAgeing, let role = member.connection.service else { return }
    members[id]?.isAgeing = true
    if role.silence > 0 {
      loop.execute(after: .milliseconds(role.silence)) { [weak self] in
        self?.assumeIsolated { $0.flush(id) }
      }
    }
    let lifetime = role.lifetime
    if lifetime.ageSeconds > 0 { after(lifetime.ageSeconds) { $0.end(id, .age) } }
    if lifetime.idleSeconds > 0 { watchIdleness(id, seconds: lifetime.idleSeconds, seen: -1) }
  }

  private func watchIdleness(_ id: Int, seconds: Int, seen: Int) {
    guard let role = members[id]?.connection.service else { return }
    let count = role.requestCount
    if count == seen { return end(id, .idleness) }
    after(seconds) { $0.watchIdleness(id, seconds: seconds, seen: count) }
  }

  private func end(_ id: Int, _ end: ConnectionEnd) {
    guard let role = members[id]?.connection.service else { return }
    do {
      try role.leave(at: end)
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
      guard let role = members[pending.connection]?.connection.service else { return }
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

  /// Applies new rules, for example after a knob was changed. Requests that were checked before keep their result.
  func apply(_ rules: Rules) {
    state.apply(rules)
    // A changed stream limit is sent immediately, also on connections without other output.
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
    for id in Array(members.keys) { end(id, .order) }
  }

  /// Closes every connection immediately and accepts no more.
  func closeAll() {
    isClosed = true
    for id in Array(members.keys) { close(id) }
    timer?.disarm()
  }
}
