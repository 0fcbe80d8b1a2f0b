internal import Dispatch
internal import EventLoop
internal import HTTP2
internal import PushCore
internal import TLS

/// One connection to APNs through nghttp2 and OpenSSL.
///
/// Works in turns on its own serial queue: what has come is read, what has ended is looked at, what has room is filled
/// from the supply and written in whole TLS records; then what ended is delivered, all at once. When a connection has
/// failed, or should be replaced, it takes no more pushes, ends when the last is answered, and another takes over as soon
/// as the pool's budget allows.
actor NativeEngine: PushEngine {
  private let loop: EventLoop
  private let number: Int
  private let configuration: ConnectionPool.Configuration
  private let supply: any PushSupply
  private let liveness: NativeConnection.Liveness
  private let firstStreamID: Int32
  private let input: ReadBuffer

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private var window: CongestionWindow
  private var current: NativeConnection?
  /// Connections that only wait for their last answers.
  private var ending: [Int: NativeConnection] = [:]
  /// Names the current connection to handlers that may fire late.
  private var serial = 0
  private var template: PushTemplate?
  private var tls: (context: TLSContext, connection: Int)?
  private var completions: [PushCompletion] = []
  /// What has ended on the current connection, and what that says about it.
  private var verdict = NativeVerdict()
  /// For what the supply has asked to wait for.
  private var supplyTimer: LoopTimer?
  private var ticker: LoopTimer?
  private var isDraining = false
  private var drained: [CheckedContinuation<Void, Never>] = []
  private var drainTimer: LoopTimer?

  /// Pushes taken from the supply at once: what is not taken can be taken back, and overtaken.
  private static let largestShare = 128
  /// Time-outs are seen this share of their time late at most.
  private static let ticksPerTimeout: UInt64 = 16
  private static let tickRange: ClosedRange<UInt64> = 5_000_000...500_000_000

  /// - Parameters:
  ///   - liveness: when a silent peer is asked for a sign of life.
  ///   - firstStreamID: of every connection; for tests.
  init(
    number: Int, configuration: ConnectionPool.Configuration, supply: any PushSupply,
    liveness: NativeConnection.Liveness = .init(), firstStreamID: Int32 = 1
  ) {
    loop = EventLoop(label: "carillon.apns.\(number)")
    self.number = number
    self.configuration = configuration
    self.supply = supply
    self.liveness = liveness
    self.firstStreamID = firstStreamID
    input = ReadBuffer()
    window =
      configuration.fixedStreams.map { CongestionWindow(fixed: $0) }
      ?? CongestionWindow(maximum: configuration.maximumStreams)
  }

  nonisolated func wake() {
    loop.execute { [weak self] in self?.assumeIsolated { $0.turn() } }
  }

  nonisolated func startSmall() {
    loop.execute { [weak self] in self?.assumeIsolated { $0.window.reset() } }
  }

  func drain(deadline: UInt64) async {
    isDraining = true
    supplyTimer = nil
    if let current { giveBack(current) }
    finishTurn()
    guard current != nil || !ending.isEmpty else { return }
    let timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.giveUp() } }
    timer.schedule(after: .nanoseconds(Int(min(deadline, UInt64(Int.max)))))
    drainTimer = timer
    await withCheckedContinuation { drained.append($0) }
  }

  // MARK: Turns

  private func turn() {
    let now = EventLoop.now
    refill(now)
    if let current { work(current, now) }
    finishTurn()
  }

  private func ready(_ serial: Int) {
    guard let connection = connection(serial) else { return }
    let now = EventLoop.now
    connection.pump(now: now)
    work(connection, now)
    if connection.isHungry { loop.execute { [weak self] in self?.assumeIsolated { $0.ready(serial) } } }
    finishTurn()
  }

  private func lookedUp(_ serial: Int, _ result: Result<[SocketAddress], any Error>) {
    guard let connection = connection(serial) else { return }
    let now = EventLoop.now
    connection.lookedUp(result, now: now)
    work(connection, now)
    finishTurn()
  }

  private func tick() {
    let now = EventLoop.now
    for connection in [current].compactMap(\.self) + ending.values {
      connection.tick(now: now)
      work(connection, now)
    }
    finishTurn()
  }

  private func connection(_ serial: Int) -> NativeConnection? {
    serial == self.serial ? current ?? ending[serial] : ending[serial]
  }

  private func work(_ connection: NativeConnection, _ now: UInt64) {
    collect(connection, now)
    if connection === current {
      settle(connection)
      // Before anything more is taken: whether it may be is for the pool to say, by what has ended.
      deliver()
      refill(now)
    }
    connection.write(all: true)
    // Writing may have been what found the connection dead.
    if connection.failure != nil {
      collect(connection, now)
      if connection === current {
        settle(connection)
        refill(now)
      }
    }
  }

  private func finishTurn() {
    for (serial, connection) in ending where connection.inFlight == 0 {
      connection.close()
      ending[serial] = nil
    }
    deliver()
    if current == nil, ending.isEmpty { ticker = nil }
    if isDraining { finishDraining() }
  }

  private func deliver() {
    guard !completions.isEmpty else { return }
    let batch = completions
    // A new array of the same size: the receiver keeps the old one.
    completions = []
    completions.reserveCapacity(batch.count)
    supply.complete(batch, by: number, window: window.limit)
  }

  // MARK: What has ended

  private func collect(_ connection: NativeConnection, _ now: UInt64) {
    if let goAway = connection.takeGoAway() { note(goAway, of: connection) }
    let isRefused = noteRefusal(of: connection)
    while let ended = connection.nextEnded() {
      let completion = NativeAnswer.completion(ended, wasRefused: isRefused, stopped: stopped(connection))
      completions.append(completion)
      if completion.kind == .answered { connection.answeredAt = now }
      guard connection === current else { continue }
      if completion.kind == .answered {
        note(completion.answer, ended, now)
      } else {
        noteLoss(ended, isKnown: completion.kind == .notSent, now)
      }
    }
    if connection.failure != nil || connection.isGoingAway { giveBack(connection) }
  }

  private func note(_ answer: PushAnswer, _ ended: RequestSession.Ended, _ now: UInt64) {
    let meaning = AnswerMeaning(answer, generation: ended.mark)
    if meaning.signal == .accepted, let current, !current.isEstablished {
      current.isEstablished = true
      supply.note(.established, of: number)
    }
    record(meaning.signal, ended, now)
    verdict.note(meaning.blame)
    if let event = meaning.event { supply.note(.credential(event), of: number) }
  }

  /// - Parameter isKnown: whether the push was provably not processed.
  private func noteLoss(_ ended: RequestSession.Ended, isKnown: Bool, _ now: UInt64) {
    guard let current, !current.isGoingAway else { return }
    // On a connection that worked, a push that was not sent in whole found it closed: no harm done.
    if current.failure != nil, current.isEstablished, isKnown { return }
    record(.failed, ended, now)
    verdict.noteLoss(ended, on: current, now)
  }

  private func record(_ signal: CongestionWindow.Signal, _ ended: RequestSession.Ended, _ now: UInt64) {
    guard let current else { return }
    // The one that has ended was told, so it isn't counted any more.
    window.note(
      signal, sentAt: ended.startedAt, now: now, inFlight: current.inFlight + 1, waiting: current.waitingCount)
  }

  /// Why a push that got no answer will not be sent again so soon; tokens are refused by answers.
  private func stopped(_ connection: NativeConnection) -> Reason? {
    connection.authorization.identity == nil ? nil : supply.stopped
  }

  private func note(_ goAway: RequestSession.GoAway, of connection: NativeConnection) {
    if let event = connection.credentialEvent(of: goAway) { supply.note(.credential(event), of: number) }
  }

  /// Tells the supply that the connection was ended because of its certificate, by a TLS alert.
  ///
  /// - Returns: whether it was, before anything on it was processed.
  private func noteRefusal(of connection: NativeConnection) -> Bool {
    guard let event = connection.refusal else { return false }
    supply.note(.credential(event), of: number)
    return !connection.isEstablished
  }

  /// Draws the conclusions for the connection from what has ended on it.
  private func settle(_ connection: NativeConnection) {
    switch verdict.conclude(connection) {
    case nil: break
    case .replace(let event): replace(connection, event)
    case .trouble(let trouble): supply.note(.trouble(trouble), of: number)
    }
  }

  /// Takes no more pushes on this connection.
  private func replace(_ connection: NativeConnection, _ event: ConnectionEvent) {
    verdict = NativeVerdict()
    giveBack(connection)
    ending[serial] = connection
    current = nil
    supply.note(event, of: number)
  }

  /// Completes what was taken for a connection and never sent.
  private func giveBack(_ connection: NativeConnection) {
    guard let part = connection.waiting else { return }
    connection.waiting = nil
    let reason = stopped(connection)
    for push in part.batch.pushes[part.range] { completions.append(NativeAnswer.unsent(push, stopped: reason)) }
  }

  // MARK: What is next

  private func refill(_ now: UInt64) {
    guard !isDraining, window.limit > (current?.inFlight ?? 0) || current?.waiting != nil,
      let authorization = supply.authorization(), let connection = openConnection(authorization, now)
    else { return }
    sendWaiting(on: connection, authorization, now)
    while connection.waiting == nil, connection.canSend(payloadCount: 0) {
      let room = min(window.limit, connection.streamLimit) - connection.inFlight
      guard room > 0, let part = take(upTo: min(room, Self.largestShare)) else { return }
      connection.waiting = part
      sendWaiting(on: connection, authorization, now)
    }
  }

  private func take(upTo count: Int) -> PushBatch.Part? {
    switch supply.take(upTo: count, for: number) {
    case .pushes(let part): return part
    case .nothing: return nil
    case .wait(let delay):
      lookAgain(after: delay)
      return nil
    }
  }

  private func lookAgain(after delay: UInt64) {
    let timer = supplyTimer ?? LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.turn() } }
    supplyTimer = timer
    timer.schedule(after: .nanoseconds(Int(delay)))
  }

  /// Sends what waits, as far as the connection takes it now.
  private func sendWaiting(on connection: NativeConnection, _ authorization: PushAuthorization, _ now: UInt64) {
    guard var part = connection.waiting else { return }
    let template = template(part.batch.headers, authorization)
    let sent = part.batch.bytes.withUnsafeBytes { bytes in
      part.batch.pushes.withUnsafeBufferPointer { pushes in
        for index in part.range {
          let push = pushes[index]
          let payload = UnsafeRawBufferPointer(
            rebasing: bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)])
          guard connection.canSend(payloadCount: payload.count) else { return index }
          template.write(push, of: bytes)
          guard connection.send(template, payload: payload, tag: push.tag, now: now) else { return index }
        }
        return part.range.upperBound
      }
    }
    part.range = sent..<part.range.upperBound
    connection.waiting = part.range.isEmpty ? nil : part
  }

  private func template(_ headers: PushHeaders, _ authorization: PushAuthorization) -> PushTemplate {
    if let template, template.generation == authorization.generation, template.headers == headers { return template }
    let template = PushTemplate(headers, authorization: authorization, endpoint: configuration.endpoint)
    self.template = template
    return template
  }

  /// The connection to send on, opened if there is none and the budget allows it.
  private func openConnection(_ authorization: PushAuthorization, _ now: UInt64) -> NativeConnection? {
    if let current, current.authorization.connection != authorization.connection {
      // Of an older key or certificate: it only ends what is on its way.
      replace(current, .closed)
    }
    if let current { return current }
    switch supply.mayOpen(number) {
    case nil: return nil
    case .wait(let delay):
      lookAgain(after: delay)
      return nil
    case .open: break
    }
    supply.note(.opening, of: number)
    do {
      let connection = try makeConnection(authorization, now)
      // As with every connection, one push is the first; what comes of the connection, comes of it.
      connection.waiting = take(upTo: 1)
      current = connection
      window.reset()
      startTicking()
      return connection
    } catch {
      supply.note(.failed("\(error)"), of: number)
      // The supply says when to try again.
      wake()
      return nil
    }
  }

  private func makeConnection(_ authorization: PushAuthorization, _ now: UInt64) throws -> NativeConnection {
    let setup = try NativeConnection.Setup(configuration, liveness: liveness, firstStreamID: firstStreamID)
    let context = try tlsContext(authorization)
    serial += 1
    let serial = serial
    return NativeConnection(
      setup, authorization, tls: context, loop: loop, input: input.bytes, now: now,
      onLookedUp: { [weak self] result in self?.assumeIsolated { $0.lookedUp(serial, result) } },
      onReady: { [weak self] in self?.assumeIsolated { $0.ready(serial) } },
      mayConnect: { [supply, number] in supply.mayConnect(number, to: $0) })
  }

  private func tlsContext(_ authorization: PushAuthorization) throws -> TLSContext {
    if let tls, tls.connection == authorization.connection { return tls.context }
    let context = try TLSContext.client(
      trust: configuration.endpoint.trustRoots.map { .file($0) } ?? .system, protocols: ["h2"],
      identity: authorization.identity)
    tls = (context, authorization.connection)
    return context
  }

  private func startTicking() {
    guard ticker == nil else { return }
    let shortest = min(
      configuration.requestTimeout, configuration.connectTimeout, liveness.busy, liveness.idle, liveness.answer)
    let interval = max(Self.tickRange.lowerBound, min(shortest / Self.ticksPerTimeout, Self.tickRange.upperBound))
    let timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.tick() } }
    timer.schedule(every: .nanoseconds(Int(interval)))
    ticker = timer
  }

  // MARK: The end

  private func finishDraining() {
    if let connection = current, connection.inFlight == 0 {
      connection.close()
      supply.note(.closed, of: number)
      current = nil
    }
    guard current == nil, ending.isEmpty else { return }
    ticker = nil
    drainTimer = nil
    for waiter in drained { waiter.resume() }
    drained = []
  }

  /// The deadline has passed: what is unanswered is given back as it is.
  private func giveUp() {
    for connection in [current].compactMap(\.self) + ending.values {
      giveBack(connection)
      connection.close()
      while let ended = connection.nextEnded() { completions.append(NativeAnswer.completion(ended)) }
    }
    finishTurn()
  }
}
