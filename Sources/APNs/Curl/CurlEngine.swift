internal import CCurl
internal import Dispatch
internal import EventLoop
internal import PushCore

/// One connection to APNs through libcurl's multi interface. The default engine.
///
/// Works in turns on its own serial queue: libcurl says what has ended, what has room is filled from the supply, libcurl
/// sends; then what ended is delivered, all at once. When a connection has failed, or should be replaced, it takes no
/// more pushes, ends when the last is answered, and another takes over as soon as the pool's budget allows.
actor CurlEngine: PushEngine {
  private let loop: EventLoop
  private let number: Int
  private let configuration: ConnectionPool.Configuration
  private let supply: any PushSupply

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private var window: CongestionWindow
  private var current: CurlConnection?
  /// Connections that only wait for their last answers.
  private var ending: [Int: CurlConnection] = [:]
  /// Names the current connection to handlers that may fire late.
  private var serial = 0
  private var headers: HeaderList?
  private var lastSentAt: UInt64 = 0
  private var completions: [PushCompletion] = []
  /// What went wrong on the current connection since the last look.
  private var trouble: CurlError?
  /// A push timed out: the connection may be half dead, and nobody would tell.
  private var isSilent = false
  /// What answers hold against the current connection.
  private var blame = ConnectionBlame()
  /// For what the supply has asked to wait for.
  private var supplyTimer: LoopTimer?
  private var isDraining = false
  private var drained: [CheckedContinuation<Void, Never>] = []
  private var drainTimer: LoopTimer?

  /// Rounds of one turn: as long as libcurl has more to do at once, but other sources get their turn too.
  private static let roundsPerTurn = 8

  private static let turnedAwayText =
    "APNs ended the connection before the first push (GOAWAY), as it does with certificates of the other environment"

  init(number: Int, configuration: ConnectionPool.Configuration, supply: any PushSupply) {
    loop = EventLoop(label: "carillon.apns.\(number)")
    self.number = number
    self.configuration = configuration
    self.supply = supply
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
    finishDraining()
    guard current != nil || !ending.isEmpty else { return }
    let timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.giveUp() } }
    timer.schedule(after: .nanoseconds(Int(min(deadline, UInt64(Int.max)))))
    drainTimer = timer
    await withCheckedContinuation { drained.append($0) }
  }

  // MARK: Turns

  /// Fills what has room, lets libcurl work, delivers.
  private func turn() {
    if current?.isDue != true { refill() }
    if let current { work(current) }
    finishTurn()
  }

  private func ready(_ serial: Int, _ descriptor: Int32, _ events: Int32) {
    guard let connection = connection(serial) else { return }
    connection.run(descriptor: descriptor, events: events)
    work(connection)
    finishTurn()
  }

  private func timerFired(_ serial: Int) {
    guard let connection = connection(serial) else { return }
    connection.timerFired()
    work(connection)
    finishTurn()
  }

  private func connection(_ serial: Int) -> CurlConnection? {
    serial == self.serial ? current ?? ending[serial] : ending[serial]
  }

  private func work(_ connection: CurlConnection) {
    var rounds = 0
    repeat {
      if connection.isDue { connection.run() }
      collect(connection)
      if connection === current {
        settle(connection)
        refill()
      }
      rounds += 1
    } while connection.isDue && rounds < Self.roundsPerTurn
    connection.armTimer()
    if connection.isDue { continueLater(connection) }
    // In the middle of this turn another connection may have taken over.
    if let current, current !== connection, current.isDue { continueLater(current) }
  }

  private func continueLater(_ connection: CurlConnection) {
    let serial = connection === current ? serial : ending.first { $0.value === connection }?.key
    guard let serial else { return }
    loop.execute { [weak self] in self?.assumeIsolated { $0.timerFired(serial) } }
  }

  private func finishTurn() {
    if !ending.isEmpty {
      for (serial, connection) in ending where connection.inFlight == 0 {
        connection.close()
        ending[serial] = nil
      }
    }
    if !completions.isEmpty {
      let batch = completions
      // A new array of the same size: the receiver keeps the old one.
      completions = []
      completions.reserveCapacity(batch.count)
      supply.complete(batch, by: number, window: window.limit)
    }
    if isDraining { finishDraining() }
  }

  // MARK: What has ended

  private func collect(_ connection: CurlConnection) {
    let now = EventLoop.now
    connection.takeEnded { transfer, code in
      if code == CURLE_OK {
        let answer = CurlAnswer(transfer)
        completions.append(answer.completion(tag: transfer.tag))
        if connection === current { note(answer.answer, transfer, now) }
      } else {
        let error = CurlError(code, detail: transfer.errorDetail)
        let isRefused = noteRefusal(error, of: connection)
        // With it the push says why it will not be sent again so soon; tokens are refused by answers.
        let reason = connection.authorization.identity == nil ? nil : supply.stopped
        completions.append(CurlAnswer.failure(transfer, wasRefused: isRefused, stopped: reason))
        if connection === current { note(error, transfer, now) }
      }
    }
  }

  private func note(_ answer: PushAnswer, _ transfer: CurlTransfer, _ now: UInt64) {
    let meaning = AnswerMeaning(answer, generation: transfer.headers?.generation ?? 0)
    if meaning.signal == .accepted, let current, current.phase == .opening {
      current.phase = .established
      supply.note(.established, of: number)
    }
    record(meaning.signal, transfer, now)
    blame.note(meaning.blame)
    if let event = meaning.event { supply.note(.credential(event), of: number) }
  }

  /// Tells the supply that the connection was ended because of its certificate.
  ///
  /// - Returns: whether it was, before anything on it was processed.
  private func noteRefusal(_ error: CurlError, of connection: CurlConnection) -> Bool {
    guard connection.authorization.identity != nil else { return false }
    let generation = connection.authorization.generation
    if let alert = error.detail.flatMap(TLSAlert.init(libcurl:)) {
      supply.note(.credential(.certificateRefused(alert, generation: generation)), of: number)
      return connection.phase == .opening
    }
    guard connection.phase == .opening, connection.wasTurnedAway else { return false }
    supply.note(.credential(.turnedAway(generation: generation)), of: number)
    return true
  }

  private func note(_ error: CurlError, _ transfer: CurlTransfer, _ now: UInt64) {
    // On a connection that worked, a push that libcurl did not even begin to send found it closed: no harm done.
    guard transfer.wasRead || current?.phase == .opening else { return }
    // The first is the cause, what follows on the same connection are its consequences.
    if trouble == nil { trouble = error }
    if error.isTimeout { isSilent = true }
    record(.failed, transfer, now)
  }

  private func record(_ signal: CongestionWindow.Signal, _ transfer: CurlTransfer, _ now: UInt64) {
    guard let current else { return }
    window.note(
      signal, sentAt: transfer.sentAt, now: now, inFlight: current.inFlight, waiting: current.waiting)
  }

  /// Draws the conclusions for the connection from what has ended on it.
  private func settle(_ connection: CurlConnection) {
    defer {
      trouble = nil
      isSilent = false
    }
    if connection.phase == .opening, connection.wasTurnedAway {
      return replace(connection, .failed(Self.turnedAwayText))
    }
    if let trouble {
      // Before the first acceptance, and down at one push at a time, an error means that the connection is no good.
      let isLost = connection.phase == .opening || connection.openSockets == 0 || window.limit == 1 || isSilent
      if isLost { return replace(connection, .failed(trouble.description)) }
      supply.note(.trouble(trouble.description), of: number)
    } else if blame.isSpent || blame.isFaulty {
      replace(connection, .closed)
    } else if connection.phase == .established, connection.openSockets == 0 {
      // What libcurl still holds would all rush to the next connection, which allows one push at first: with this one
      // given up it may not open a socket any more, and they come back as not sent.
      if connection.inFlight > 0 { return replace(connection, .closed) }
      connection.phase = .closed
      supply.note(.closed, of: number)
    }
  }

  /// Takes no more pushes on this connection.
  private func replace(_ connection: CurlConnection, _ event: ConnectionEvent) {
    connection.phase = .closed
    blame = ConnectionBlame()
    ending[serial] = connection
    current = nil
    supply.note(event, of: number)
  }

  // MARK: What is next

  private func refill() {
    guard !isDraining else { return }
    guard room(on: current) > 0, let authorization = supply.authorization(),
      let connection = openConnection(authorization)
    else { return }
    var room = room(on: connection)
    let now = EventLoop.now
    while room > 0 {
      switch supply.take(upTo: room, for: number) {
      case .nothing: return
      case .wait(let delay): return lookAgain(after: delay)
      case .pushes(let part):
        start(part, on: connection, authorization, now)
        room -= part.range.count
      }
    }
  }

  /// Whether nothing was sent for so long that what is between us and APNs may have forgotten the connection.
  private func isStale(_ connection: CurlConnection) -> Bool {
    connection.phase == .established && connection.inFlight == 0
      && EventLoop.now - lastSentAt >= configuration.idleLimit
  }

  private func room(on connection: CurlConnection?) -> Int {
    window.room(inFlight: connection?.inFlight ?? 0, waiting: connection?.waiting ?? 0)
  }

  private func start(
    _ part: PushBatch.Part, on connection: CurlConnection, _ authorization: PushAuthorization, _ now: UInt64
  ) {
    let headers = headerList(part.batch.headers, authorization)
    lastSentAt = now
    part.batch.bytes.withUnsafeBytes { bytes in
      for push in part.batch.pushes[part.range] {
        if let headers, connection.start(push, of: bytes, headers: headers, now: now) { continue }
        completions.append(PushCompletion(tag: push.tag, answer: PushAnswer(kind: .notSent)))
      }
    }
  }

  private func headerList(_ headers: PushHeaders, _ authorization: PushAuthorization) -> HeaderList? {
    if let list = self.headers, list.generation == authorization.generation, list.headers == headers { return list }
    self.headers = HeaderList(headers, authorization: authorization)
    return self.headers
  }

  /// The connection to send on, opened if there is none and the budget allows it.
  private func openConnection(_ authorization: PushAuthorization) -> CurlConnection? {
    if let current, current.authorization.connection != authorization.connection {
      // Of an older key or certificate: it only ends what is on its way.
      replace(current, .closed)
    }
    if let current, isStale(current) { replace(current, .closed) }
    if let current, current.phase != .closed { return current }
    switch supply.mayOpen(number) {
    case nil: return nil
    case .wait(let delay):
      lookAgain(after: delay)
      return nil
    case .open: break
    }
    guard let connection = current ?? makeConnection(authorization) else {
      supply.note(.failed("libcurl could not be initialised: out of memory"), of: number)
      return nil
    }
    current = connection
    connection.phase = .opening
    blame = ConnectionBlame()
    window.reset()
    supply.note(.opening, of: number)
    return connection
  }

  private func lookAgain(after delay: UInt64) {
    let timer = supplyTimer ?? LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.turn() } }
    supplyTimer = timer
    timer.schedule(after: .nanoseconds(Int(delay)))
  }

  private func makeConnection(_ authorization: PushAuthorization) -> CurlConnection? {
    serial += 1
    let serial = serial
    return CurlConnection(
      configuration, authorization, loop: loop,
      onReady: { [weak self] descriptor, events in self?.assumeIsolated { $0.ready(serial, descriptor, events) } },
      onTimer: { [weak self] in self?.assumeIsolated { $0.timerFired(serial) } },
      mayConnect: { [supply, number] in supply.mayConnect(number, to: $0) })
  }

  // MARK: The end

  private func finishDraining() {
    if let connection = current, connection.inFlight == 0 {
      connection.close()
      if connection.phase != .closed { supply.note(.closed, of: number) }
      current = nil
    }
    guard current == nil, ending.isEmpty else { return }
    drainTimer = nil
    for waiter in drained { waiter.resume() }
    drained = []
  }

  /// The deadline has passed: what is unanswered is given back as it is.
  private func giveUp() {
    for connection in ending.values + (current.map { [$0] } ?? []) {
      connection.abandon { completions.append(CurlAnswer.failure($0)) }
    }
    finishTurn()
  }
}
