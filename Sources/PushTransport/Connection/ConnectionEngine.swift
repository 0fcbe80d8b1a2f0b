internal import Dispatch
internal import EventLoop
internal import PushCore

/// Engine that sends pushes over one connection at a time, on its own serial queue. It executes the actions of a
/// ``ConnectionDriver``.
///
/// The engine works in turns. In a turn, the connection does all possible work. The engine then records the pushes that
/// have ended, takes new pushes from the supply for free streams, and delivers all completions together. Pushes move
/// between engine and connection in batches, so that no push needs a dynamic call of its own. The stored properties are
/// the connection, the driver, and the state between them: timers, the supply, undelivered completions, and the tasks
/// that wait for the end.
actor ConnectionEngine<Connector: PushConnector>: PushEngine {
  private let loop: EventLoop
  private let number: Int
  private let supply: any PushSupply
  private let service: any PushService
  private var driver: ConnectionDriver
  private var current: Connector.Connection?
  /// Connections that take no more pushes and wait for their last answers.
  private var ending: [Int: Connector.Connection] = [:]
  private var ended: [EndedPush] = []
  private var completions: [PushCompletion] = []
  /// Latencies of the answers in ``completions``.
  private var times = AnswerTimes()
  /// Timer for a wait that the supply has requested.
  private var supplyTimer: LoopTimer?
  private var ticker: LoopTimer?
  private var drained: [CheckedContinuation<Void, Never>] = []
  private var drainTimer: LoopTimer?
  private var connector: Connector
  /// Whether the engine reports to the supply if its connection is saturated. `reportedSaturation` is the last reported
  /// value.
  private let reportsSaturation: Bool
  private var reportedSaturation = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// Maximum number of rounds in one turn. The turn continues while the connection has more to do, but other
  /// connections need their turn too.
  private static var roundsPerTurn: Int { 8 }

  init(number: Int, configuration: ConnectionPool.Configuration, connector: Connector, supply: any PushSupply) {
    loop = EventLoop(label: "carillon.connection.\(number)")
    self.number = number
    self.supply = supply
    service = configuration.service
    self.connector = connector
    driver = ConnectionDriver(
      window: configuration.fixedStreams.map { CongestionWindow(fixed: $0) }
        ?? CongestionWindow(maximum: configuration.maximumStreams, start: configuration.policy.start),
      idleLimit: connector.findsDeadConnections ? nil : configuration.idleLimit, policy: configuration.policy)
    reportsSaturation = configuration.policy.growth == .whenBusy
  }

  nonisolated func wake() {
    loop.execute { [weak self] in self?.assumeIsolated { $0.turn() } }
  }

  nonisolated func limitToOnePush() {
    loop.execute { [weak self] in self?.assumeIsolated { $0.driver.limitToOnePush() } }
  }

  func drain(deadline: UInt64) async {
    supplyTimer = nil
    execute(driver.drain(), EventLoop.now)
    finishTurn()
    guard !driver.hasEnded else { return }
    let timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.giveUp() } }
    timer.schedule(after: .nanoseconds(Int(min(deadline, UInt64(Int.max)))))
    drainTimer = timer
    await withCheckedContinuation { drained.append($0) }
  }

  // MARK: Turns

  private func turn() {
    let now = EventLoop.now
    if current == nil { refill(now) }
    if let current { work(current, driver.serial, now) }
    finishTurn()
  }

  /// Handles an event of a connection, which may be closed already. Without an event, the connection only continues its
  /// work.
  private func handle(_ event: Connector.Connection.Event?, on serial: Int) {
    guard let connection = connection(serial) else { return }
    let now = EventLoop.now
    if let event { connection.handle(event, now: now) }
    work(connection, serial, now)
    finishTurn()
  }

  private func tick() {
    let now = EventLoop.now
    for serial in (current == nil ? [] : [driver.serial]) + ending.keys {
      guard let connection = connection(serial) else { continue }
      connection.tick(now: now)
      if connection === current { execute(driver.checkAge(now: now), now) }
      work(connection, serial, now)
    }
    if current == nil { refill(now) }
    finishTurn()
  }

  private func connection(_ serial: Int) -> Connector.Connection? {
    serial == driver.serial ? current ?? ending[serial] : ending[serial]
  }

  private func work(_ connection: Connector.Connection, _ serial: Int, _ began: UInt64) {
    let before = driver.serial
    var now = began
    var rounds = 0
    repeat {
      now = connection.run(now: now)
      collect(connection, serial, now)
      if connection === current {
        execute(driver.evaluate(connection.condition, lossReason: connection.takeLossReason()), now)
        // The completions are delivered first, because they influence the pool's decision about further pushes.
        deliver()
        refill(now)
        if reportsSaturation { reportSaturation() }
      }
      connection.flush()
      rounds += 1
    } while connection.isDue && rounds < Self.roundsPerTurn
    connection.endTurn()
    if connection.isDue { continueLater(serial) }
    // Another connection may have replaced this one during the turn.
    if driver.serial != before { continueLater(driver.serial) }
  }

  private func reportSaturation() {
    guard driver.isSaturated != reportedSaturation else { return }
    reportedSaturation.toggle()
    supply.record(.saturated(reportedSaturation), of: number)
  }

  private func continueLater(_ serial: Int) {
    loop.execute { [weak self] in self?.assumeIsolated { $0.handle(nil, on: serial) } }
  }

  private func finishTurn() {
    while let serial = driver.nextFinished() { ending.removeValue(forKey: serial)?.close() }
    deliver()
    guard driver.hasEnded else { return }
    ticker = nil
    guard driver.isDraining else { return }
    drainTimer = nil
    for waiter in drained { waiter.resume() }
    drained = []
  }

  private func deliver() {
    guard !completions.isEmpty else { return }
    let batch = completions
    // The new array has the same capacity; the receiver keeps the old one.
    completions = []
    completions.reserveCapacity(batch.count)
    let times = times
    self.times = AnswerTimes()
    supply.complete(batch, by: number, window: driver.window.limit, times: times)
  }

  // MARK: Ended pushes

  private func collect(_ connection: Connector.Connection, _ serial: Int, _ now: UInt64) {
    let isCurrent = connection === current
    let waiting = connection.waitingCount
    let first = completions.count
    connection.takeEnded(&completions, &ended, now: now)
    guard !ended.isEmpty else { return }
    let stopped = connection.authorization.identity == nil ? nil : supply.stopped
    for index in ended.indices {
      let answer = completions[first + index].answer
      if answer.kind == .answered { times.record(now &- min(now, ended[index].sentAt)) }
      if isCurrent, answer.kind == .answered {
        record(answer, completions[first + index].unknownReason, ended[index], waiting, now)
        continue
      }
      if isCurrent, !ended[index].loss.isEmpty {
        driver.recordLoss(ended[index].loss, sentAt: ended[index].sentAt, waiting: waiting, now: now)
      } else {
        driver.ended(on: serial)
      }
      // If the service refused the certificate, a push without an answer gets the reason of the refusal, so that it is
      // not sent again soon. After a refused provider token this is not necessary, because every push has an answer.
      if let stopped, answer.kind != .answered { completions[first + index].answer.reason = stopped }
    }
    ended.removeAll(keepingCapacity: true)
  }

  private func record(
    _ answer: PushAnswer, _ unknownReason: String?, _ ended: EndedPush, _ waiting: Int, _ now: UInt64
  ) {
    let meaning =
      answer.isAccepted ? AnswerMeaning(blame: .clears) : service.meaning(of: answer, generation: ended.generation)
    let isFirst = driver.answered(
      .init(answer), meaning.blame, sentAt: ended.sentAt, waiting: waiting, now: now)
    if isFirst {
      current?.isEstablished = true
      supply.record(.established, of: number)
    }
    guard !answer.isAccepted else { return }
    if let event = meaning.event
      ?? service.refusal(of: answer, unknownReason: unknownReason, generation: ended.generation)
    {
      supply.record(.credential(event), of: number)
    }
  }

  // MARK: The next action

  private func refill(_ now: UInt64) {
    let canResume = current?.canResume ?? false
    guard canResume || driver.wantsPushes(current?.room ?? .streams(0)) else { return }
    guard let authorization = supply.authorization() else {
      if canResume { giveBack(now) }
      return
    }
    let credential = authorization.connection
    while true {
      current?.resume(with: authorization, now: now)
      var action = driver.next(current?.room ?? .streams(0), credential: credential, now: now)
      if action == .askToOpen { action = driver.mayOpen(supply.mayOpen(number), credential: credential) }
      switch action {
      case .take(let count):
        guard let part = take(upTo: count) else { return }
        driver.recordHandover(part.range.count, now: now)
        current?.send(part, with: authorization, now: now)
      case .open(let serial):
        guard open(serial, authorization, now) else { return }
      case .replace: execute(action, now)
      case .rest, .checkAgain, .askToOpen, .report: return execute(action, now)
      }
    }
  }

  /// Returns pushes that were handed to the connection before the credential stopped. Otherwise they would stay in
  /// flight until the credential is repaired, and would then be sent even if their campaign was paused or cancelled.
  private func giveBack(_ now: UInt64) {
    guard let current else { return }
    current.giveBack()
    collect(current, driver.serial, now)
  }

  private func take(upTo count: Int) -> PushBatch.Part? {
    switch supply.take(upTo: count, for: number) {
    case .pushes(let part): return part
    case .nothing: return nil
    case .wait(let delay):
      execute(.checkAgain(after: delay), EventLoop.now)
      return nil
    }
  }

  private func execute(_ action: ConnectionDriver.Action, _ now: UInt64) {
    switch action {
    case .rest, .askToOpen, .open, .take: break
    case .report(let text): supply.record(.pushesLost(text), of: number)
    case .checkAgain(let delay):
      let timer = supplyTimer ?? LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.turn() } }
      supplyTimer = timer
      timer.schedule(after: .nanoseconds(Int(delay)))
    case .replace(let serial, let event):
      guard let connection = current else { return }
      current = nil
      ending[serial] = connection
      connection.retire()
      supply.record(event, of: number)
      // Collects the pushes that the connection had not begun, because it returns them immediately.
      collect(connection, serial, now)
    }
  }

  private func open(_ serial: Int, _ authorization: PushAuthorization, _ now: UInt64) -> Bool {
    supply.record(.opening, of: number)
    do {
      let context = ConnectionContext<Connector.Connection.Event>(
        loop: loop,
        onEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event, on: serial) } },
        onCredentialEvent: { [supply, number] event in supply.record(.credential(event), of: number) },
        mayConnect: { [supply, number] address in supply.mayConnect(number, to: address) })
      current = try connector.connect(authorization, context, now: now)
      driver.opened(now: now, chance: .random(in: 0..<1))
      reportedSaturation = false
      startTicking()
      return true
    } catch {
      driver.failedToOpen()
      supply.record(.failed("\(error)", accepted: 0), of: number)
      // The supply decides when to try again.
      wake()
      return false
    }
  }

  private func startTicking() {
    guard ticker == nil, let interval = connector.tickInterval else { return }
    let timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.tick() } }
    timer.schedule(every: .nanoseconds(Int(interval)))
    ticker = timer
  }

  // MARK: Draining

  /// Returns all unanswered pushes, because the deadline has passed.
  private func giveUp() {
    for (serial, connection) in ending {
      connection.abandon()
      collect(connection, serial, EventLoop.now)
    }
    finishTurn()
  }
}
