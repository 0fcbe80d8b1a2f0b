import PushCore
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

@Suite("Driver of connections")
struct ConnectionDriverTests {
  private func makeDriver(idleLimit: UInt64? = nil) -> ConnectionDriver {
    ConnectionDriver(window: CongestionWindow(maximum: 100), idleLimit: idleLimit)
  }

  /// Returns a driver whose connection has one accepted push and none in flight.
  private func established(idleLimit: UInt64? = nil) -> ConnectionDriver {
    var driver = makeDriver(idleLimit: idleLimit)
    expect(driver.mayOpen(.open, credential: 1), is: .open(1))
    driver.recordHandover(1, now: 0)
    let isFirst = driver.answered(.accepted, .clears, sentAt: 0, waiting: 0, now: 1)
    expect(isFirst)
    return driver
  }

  @Test("the driver asks to open and obeys the supply")
  func opening() {
    var driver = makeDriver()
    expect(driver.wantsPushes(.streams(0)))
    expect(driver.next(.streams(0), credential: 1, now: 0), is: .askToOpen)
    expect(driver.mayOpen(nil, credential: 1), is: .rest)
    expect(driver.mayOpen(.wait(7), credential: 1), is: .checkAgain(after: 7))
    expect(driver.mayOpen(.open, credential: 1), is: .open(1))
    expect(driver.phase, is: .opening)
    // One push is allowed until the first is accepted.
    expect(driver.next(.streams(50), credential: 1, now: 0), is: .take(upTo: 1))
    driver.recordHandover(1, now: 0)
    expect(!driver.wantsPushes(.streams(50)))
    expect(driver.next(.streams(50), credential: 1, now: 0), is: .rest)
    driver.failedToOpen()
    expect(driver.next(.streams(0), credential: 1, now: 0), is: .askToOpen)
  }

  @Test("takes are limited by the window, the streams, and the number that can be taken back")
  func room() {
    var driver = established()
    let limit = driver.window.limit
    expect(driver.next(.streams(1000), credential: 1, now: 2), is: .take(upTo: limit))
    expect(driver.next(.streams(3), credential: 1, now: 2), is: .take(upTo: 3))
    expect(driver.next(.streams(0), credential: 1, now: 2), is: .rest)
    expect(driver.next(.queue(waiting: 4), credential: 1, now: 2), is: .rest)
    expect(driver.next(.queue(waiting: 3), credential: 1, now: 2), is: .take(upTo: 1))
    var wide = ConnectionDriver(window: CongestionWindow(fixed: 1000), idleLimit: nil)
    _ = wide.mayOpen(.open, credential: 1)
    wide.recordHandover(1, now: 0)
    _ = wide.answered(.accepted, .clears, sentAt: 0, waiting: 0, now: 1)
    expect(wide.next(.streams(1000), credential: 1, now: 2), is: .take(upTo: ConnectionDriver.largestShare))
  }

  @Test("another credential, or a long idle time without detection of its death, replaces the connection")
  func replacedBeforeUse() {
    var driver = established(idleLimit: 100)
    expect(driver.next(.streams(9), credential: 1, now: 99), is: .take(upTo: 9))
    expect(driver.next(.streams(9), credential: 1, now: 100), is: .replace(1, .closed(accepted: 1)))
    expect(driver.nextFinished(), is: 1)
    expect(driver.nextFinished(), is: nil)
    driver = established(idleLimit: 100)
    driver.recordHandover(1, now: 0)
    // A connection that waits for an answer is not idle.
    expect(driver.next(.streams(0), credential: 1, now: 1000), is: .rest)
    expect(driver.next(.streams(9), credential: 2, now: 0), is: .replace(1, .closed(accepted: 1)))
    expect(driver.nextFinished(), is: nil)
    driver.ended(on: 1)
    expect(driver.nextFinished(), is: 1)
    expect(driver.mayOpen(.open, credential: 2), is: .open(2))
  }

  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var condition = ConnectionCondition.working
    var losses: [Loss] = []
    var blame: [AnswerMeaning.Blame] = []
    /// The conclusion for a connection without an accepted push, and for one with an accepted push.
    var opening: ConnectionVerdict.Conclusion?
    var established: ConnectionVerdict.Conclusion?
    var isNarrow = false
  }

  static let cases: [Case] = [
    Case(testDescription: "nothing"),
    Case(testDescription: "goes away", condition: .goingAway("bye"), opening: .broken("bye"), established: .ended),
    Case(
      testDescription: "goes away with losses", condition: .goingAway("bye"), losses: [.ofPush],
      opening: .broken("bye"), established: .ended),
    Case(
      testDescription: "breaks while nothing was lost", condition: .broken("reset"), opening: .broken("reset"),
      established: .ended),
    Case(
      testDescription: "breaks", condition: .broken("reset"), losses: [.ofPush], opening: .broken("reset"),
      established: .broken("reset")),
    Case(
      testDescription: "breaks, and pushes say why", condition: .broken(nil), losses: [.ofConnection],
      opening: .broken("lost"), established: .broken("lost")),
    Case(testDescription: "is used up", condition: .exhausted, opening: .ended, established: .ended),
    Case(
      testDescription: "loses a push", losses: [.ofPush], opening: .pushesLost("lost"), established: .pushesLost("lost")
    ),
    Case(
      testDescription: "may be lost itself", losses: [.ofConnection], opening: .broken("lost"),
      established: .pushesLost("lost")),
    Case(
      testDescription: "may be lost itself, down at one push", losses: [.ofConnection], opening: .broken("lost"),
      established: .broken("lost"), isNarrow: true),
    Case(
      testDescription: "falls silent", losses: [.silence], opening: .broken("lost"), established: .broken("lost")),
    Case(
      testDescription: "loses three in a row", losses: [.ofPush, .ofPush, .ofPush], opening: .broken("lost"),
      established: .ended),
    Case(testDescription: "is blamed twice", blame: [.counts, .counts]),
    Case(testDescription: "is blamed, cleared, blamed", blame: [.counts, .counts, .clears, .counts]),
    Case(
      testDescription: "is blamed three times", blame: [.counts, .none, .counts, .counts], opening: .ended,
      established: .ended),
    Case(testDescription: "is to be replaced", blame: [.replaces, .clears], opening: .ended, established: .ended),
  ]

  @Test("verdict on a connection that", arguments: cases)
  func verdicts(_ row: Case) {
    for (isEstablished, expected) in [(false, row.opening), (true, row.established)] {
      var verdict = ConnectionVerdict()
      for blame in row.blame { verdict.record(blame) }
      for (index, loss) in row.losses.enumerated() {
        verdict.record(loss, sentAt: UInt64(10 * index + 1), now: UInt64(10 * index + 2))
      }
      let conclusion = verdict.conclude(
        row.condition, lossReason: row.losses.isEmpty ? nil : "lost", isEstablished: isEstablished,
        isNarrow: row.isNarrow)
      expect(conclusion, is: expected, "established: \(isEstablished)")
    }
  }

  @Test("losses of pushes that were in flight together count as one")
  func lostTogether() {
    var verdict = ConnectionVerdict()
    for _ in 0..<9 { verdict.record(.ofPush, sentAt: 5, now: 10) }
    expect(
      verdict.conclude(.working, lossReason: "lost", isEstablished: true, isNarrow: false), is: .pushesLost("lost"))
  }

  @Test("draining replaces the connection, takes nothing more, and ends with the last answer")
  func draining() {
    var driver = established()
    driver.recordHandover(2, now: 1)
    expect(driver.drain(), is: .replace(1, .closed(accepted: 1)))
    expect(driver.drain(), is: .rest)
    expect(!driver.wantsPushes(.streams(9)))
    expect(driver.next(.streams(9), credential: 1, now: 2), is: .rest)
    expect(driver.mayOpen(.open, credential: 1), is: .rest)
    driver.ended(on: 1)
    expect(driver.nextFinished(), is: nil)
    expect(!driver.hasEnded)
    driver.ended(on: 1)
    expect(driver.nextFinished(), is: 1)
    expect(driver.hasEnded)
  }

  @Test(
    "random events: every push ends once, none exceeds the window, and none uses a replaced connection"
  )
  func schedules() {
    var seed = Seed("schedules of a connection driver")
    for _ in 0..<100 {
      var model = DriverModel(seed: seed.next())
      model.run(steps: 400)
    }
  }
}

/// Executes a driver's actions on simulated connections with random events.
private struct DriverModel {
  private struct Connection {
    var pushes: [Int] = []
    var streams = 1
    var condition = ConnectionCondition.working
    /// Whether the connection queues like libcurl: it takes any number of pushes, and may not start some of them.
    var queues = false
  }

  private var chance: Seed
  private var driver: ConnectionDriver
  private var connections: [Int: Connection] = [:]
  private var replaced: Set<Int> = []
  private var current: Int?
  private var backlog = 0..<0
  private var completed: [Int: Int] = [:]
  private var credential = 1
  private var now: UInt64 = 1
  private var lossReason: String?

  init(seed: UInt64) {
    chance = Seed(value: seed)
    driver = ConnectionDriver(
      window: CongestionWindow(maximum: Int.random(in: 1...64, using: &chance)),
      idleLimit: Bool.random(using: &chance) ? 50 : nil)
  }

  mutating func run(steps: Int) {
    for _ in 0..<steps {
      now += UInt64.random(in: 0...20, using: &chance)
      happen()
      check()
    }
    execute(driver.drain())
    for serial in connections.keys.sorted() {
      while let push = connections[serial]?.pushes.popLast() { end(push, on: serial, .notSent) }
    }
    close()
    expect(driver.hasEnded)
    expect(connections.isEmpty)
    expect(completed.count == backlog.lowerBound)
    expect(completed.values.allSatisfy { $0 == 1 })
  }

  private mutating func happen() {
    switch Int.random(in: 0..<100, using: &chance) {
    case 0..<20:
      backlog = backlog.lowerBound..<backlog.upperBound + Int.random(in: 1...40, using: &chance)
      refill()
    case 20..<75:
      guard let serial = connections.keys.sorted().randomElement(using: &chance) else { return refill() }
      for _ in 0..<Int.random(in: 1...8, using: &chance) { endOne(on: serial) }
      turn()
    case 75..<80: change { $0.streams = Int.random(in: 0...100, using: &$1) }
    case 80..<83: change { connection, _ in connection.condition = .goingAway("bye") }
    case 83..<86: change { connection, _ in connection.condition = .broken("reset") }
    case 86: change { connection, _ in connection.condition = .exhausted }
    case 87..<89:
      credential += 1
      refill()
    case 89:
      driver.limitToOnePush()
    case 90 where Int.random(in: 0..<20, using: &chance) == 0: execute(driver.drain())
    default: turn()
    }
  }

  private mutating func change(_ body: (inout Connection, inout Seed) -> Void) {
    guard let current, var connection = connections[current] else { return }
    body(&connection, &chance)
    connections[current] = connection
    // A broken connection loses all its pushes.
    if case .broken = connection.condition {
      while !(connections[current]?.pushes.isEmpty ?? true) { endOne(on: current) }
    }
    turn()
  }

  private enum End: CaseIterable {
    case accepted, rejected, busy, shutdown, lost, uncertain, silent, notSent
  }

  private mutating func endOne(on serial: Int) {
    guard let count = connections[serial]?.pushes.count, count > 0 else { return }
    let push = connections[serial]?.pushes.remove(at: Int.random(in: 0..<count, using: &chance)) ?? 0
    let isGood = Int.random(in: 0..<4, using: &chance) > 0
    end(push, on: serial, isGood ? .accepted : End.allCases.randomElement(using: &chance) ?? .lost)
  }

  private mutating func end(_ push: Int, on serial: Int, _ end: End) {
    completed[push, default: 0] += 1
    guard serial == current else { return driver.ended(on: serial) }
    let sentAt = now - min(now, UInt64.random(in: 0...30, using: &chance))
    switch end {
    case .accepted: answer(.accepted, .clears, sentAt)
    case .rejected: answer(.rejected, .none, sentAt)
    case .busy: answer(.busy, .none, sentAt)
    case .shutdown: answer(.busy, .counts, sentAt)
    case .lost: lose(.ofPush, sentAt)
    case .uncertain: lose(.ofConnection, sentAt)
    case .silent: lose(.silence, sentAt)
    case .notSent: driver.ended(on: serial)
    }
  }

  private mutating func answer(
    _ signal: CongestionWindow.Signal, _ blame: AnswerMeaning.Blame, _ sentAt: UInt64
  ) {
    let wasEstablished = driver.phase == .established
    let isFirst = driver.answered(signal, blame, sentAt: sentAt, waiting: 0, now: now)
    expect(isFirst == (signal == .accepted && !wasEstablished))
  }

  private mutating func lose(_ loss: Loss, _ sentAt: UInt64) {
    lossReason = "lost"
    driver.recordLoss(loss, sentAt: sentAt, waiting: 0, now: now)
  }

  private mutating func turn() {
    if let current, let connection = connections[current] {
      execute(driver.evaluate(connection.condition, lossReason: lossReason))
      lossReason = nil
    }
    refill()
    close()
  }

  private mutating func close() {
    while let serial = driver.nextFinished() {
      expect(replaced.contains(serial))
      let closed = connections.removeValue(forKey: serial)
      expect(closed?.pushes.isEmpty == true)
    }
  }

  private var room: StreamRoom {
    guard let current, let connection = connections[current] else { return .streams(0) }
    return connection.queues ? .queue(waiting: 0) : .streams(max(0, connection.streams - connection.pushes.count))
  }

  private mutating func refill() {
    guard driver.wantsPushes(room) else { return }
    for _ in 0..<1000 {
      var action = driver.next(room, credential: credential, now: now)
      if action == .askToOpen {
        let decisions: [ReconnectBudget.Decision?] = [.open, .open, .wait(5), nil]
        let decision = backlog.isEmpty ? nil : decisions.randomElement(using: &chance) ?? nil
        action = driver.mayOpen(decision, credential: credential)
      }
      guard execute(action) else { return }
    }
    Issue.record("the driver never rests")
  }

  /// - Returns: whether to continue.
  @discardableResult
  private mutating func execute(_ action: ConnectionDriver.Action) -> Bool {
    switch action {
    case .rest, .checkAgain, .report: return false
    case .askToOpen:
      Issue.record("asked twice")
      return false
    case .open(let serial):
      expect(current == nil && connections[serial] == nil && !driver.isDraining)
      if Int.random(in: 0..<8, using: &chance) == 0 {
        driver.failedToOpen()
        return false
      }
      current = serial
      connections[serial] = Connection(
        streams: Int.random(in: 0...64, using: &chance), queues: Bool.random(using: &chance))
      return true
    case .take(let count):
      expect(count > 0 && !driver.isDraining)
      guard let current, !replaced.contains(current), !backlog.isEmpty else {
        expect(backlog.isEmpty)
        return false
      }
      let taken = backlog.prefix(Int.random(in: 1...count, using: &chance))
      backlog = taken.endIndex..<backlog.upperBound
      connections[current]?.pushes += taken
      driver.recordHandover(taken.count, now: now)
      expect(driver.inFlight <= driver.window.limit)
      return true
    case .replace(let serial, _):
      let isNew = replaced.insert(serial).inserted
      expect(serial == current && isNew)
      current = nil
      return true
    }
  }

  private func check() {
    expect((current == nil) == (driver.phase == .closed))
    expect(driver.inFlight == current.flatMap { connections[$0]?.pushes.count } ?? 0)
  }
}
