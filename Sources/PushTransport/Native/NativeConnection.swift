internal import Dispatch
internal import EventLoop
internal import HTTP2
internal import PushCore
internal import TLS

/// One connection to the service: its socket, TLS and HTTP/2.
///
/// The type reads and writes bytes, checks timeouts and reports events; ``ConnectionDriver`` makes the decisions. It is
/// confined to the engine's loop. It has many properties of four kinds: the setup, the socket while it is being opened,
/// the pushes that wait for a stream, and the times when the peer last sent data.
final class NativeConnection: PushConnection {
  /// Phase of the connection.
  private enum Phase {
    case lookingUp, connecting, greeting, open, closed
  }

  let authorization: PushAuthorization
  var isEstablished = false
  private(set) var isDue = false
  /// Reason why the connection can no longer be used. It is set once.
  private(set) var failure: NativeFailure?

  private let setup: Setup
  private let context: ConnectionContext<Event>
  private let tls: TLSContext
  private let input: UnsafeMutableRawBufferPointer
  /// Pushes that were handed to the connection and could not be begun yet.
  private var waiting: PushBatch.Part?
  private var template: PushTemplate?
  /// Time when the last answer to a push arrived.
  private var answeredAt: UInt64 = 0
  /// Whether the service refused the certificate before it processed any push of the connection.
  private var wasRefused = false
  private var isRetired = false
  /// Whether the next query for ended pushes returns those that were not begun.
  private var givesBack = false
  /// Reason why the first push was lost since the last query.
  private var lossReason: String?
  /// Whether the socket takes no more bytes at the moment.
  private var isBlocked = false
  private var phase = Phase.lookingUp
  private var session: RequestSession?
  /// Attempts to reach an address; `nil` during the lookup.
  private var race: AddressRace?
  private var link: NativeLink?
  private var deadline: UInt64
  /// Time until which the service must complete TLS and send its settings on ``link``.
  private var greetingDeadline = UInt64.max
  private var peerMonitor = PeerMonitor()
  /// Beginning of the present counting period for the peer's frames, see ``HTTP2/RequestSession/allowMoreFrames()``.
  private var countedSince: UInt64 = 0
  private var goAways = 0

  /// Size of one TLS record in bytes (RFC 8446 section 5.1).
  private static let record = 16_384
  /// Maximum number of records that are read before answers are handled, so that other connections on the loop get
  /// their turn.
  private static let readsPerTurn = 16
  /// Nanoseconds after which the count of the peer's frames restarts.
  private static let countingTime: UInt64 = 1_000_000_000

  /// Looks up the host and then connects.
  ///
  /// - Parameters:
  ///   - input: the buffer for received bytes, shared with other connections of the loop.
  ///   - resolve: looks up a host; blocks, and is called on another thread.
  init(
    _ setup: Setup, _ authorization: PushAuthorization, tls: TLSContext,
    _ context: ConnectionContext<Event>, input: UnsafeMutableRawBufferPointer,
    resolve: @escaping NativeConnector.Resolve, now: UInt64
  ) {
    self.setup = setup
    self.authorization = authorization
    self.tls = tls
    self.context = context
    self.input = input
    deadline = now + setup.configuration.connectTimeout
    let next = setup.proxy ?? setup.target
    let (loop, onEvent) = (context.loop, context.onEvent)
    // getaddrinfo(3) blocks, so it runs outside the loop. Every connection makes a new lookup.
    DispatchQueue.global().async {
      let result = Result { try resolve(next.host, next.port) }
      loop.execute { onEvent(.lookedUp(result)) }
    }
  }

  // MARK: Pushes

  var waitingCount: Int { waiting?.range.count ?? 0 }

  var room: StreamRoom {
    // The connection may take one push before it is open. The result of this push shows whether the connection works.
    guard phase == .open, let session else { return .streams(waiting == nil && phase != .closed ? 1 : 0) }
    guard waiting == nil, canSend(payloadCount: 0) else { return .streams(0) }
    return .streams(session.peerMaxConcurrentStreams - session.unfinishedCount)
  }

  func send(_ part: PushBatch.Part, with authorization: PushAuthorization, now: UInt64) {
    waiting = part
    resume(with: authorization, now: now)
  }

  var canResume: Bool { waiting != nil && canSend(payloadCount: 0) }

  func resume(with authorization: PushAuthorization, now: UInt64) {
    guard var part = waiting, let session, phase == .open else { return }
    let template = template(part.batch.request, authorization)
    let sent = part.batch.bytes.withUnsafeBytes { bytes in
      part.batch.pushes.withUnsafeBufferPointer { pushes in
        for index in part.range {
          let push = pushes[index]
          let payload = UnsafeRawBufferPointer(
            rebasing: bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)])
          guard canSend(payloadCount: payload.count) else { return index }
          template.write(push, of: bytes)
          do {
            try session.open(
              template.template, body: payload, tag: push.tag, mark: template.generation, now: now)
          } catch {
            fail(error)
            return index
          }
        }
        return part.range.upperBound
      }
    }
    if sent > part.range.lowerBound { peerMonitor.requested() }
    part.range = sent..<part.range.upperBound
    waiting = part.range.isEmpty ? nil : part
  }

  func giveBack() { givesBack = true }

  /// Returns whether a push can be sent now.
  private func canSend(payloadCount: Int) -> Bool {
    guard phase == .open, !isBlocked, let session else { return false }
    if !session.hasRoom { write(all: false) }
    return !isBlocked && session.canOpen(bodyCount: payloadCount)
  }

  private func template(_ request: PushRequest, _ authorization: PushAuthorization) -> PushTemplate {
    if let template, template.generation == authorization.generation, template.request === request { return template }
    let template = PushTemplate(request, authorization: authorization, endpoint: setup.configuration.endpoint)
    self.template = template
    return template
  }

  func takeEnded(_ completions: inout [PushCompletion], _ ended: inout [EndedPush], now: UInt64) {
    let service = setup.configuration.service
    while let push = session?.nextEnded() {
      let completion = NativeAnswer.completion(push, wasRefused: wasRefused, service)
      completions.append(completion)
      ended.append(EndedPush(sentAt: push.startedAt, generation: push.mark))
      if completion.kind == .answered {
        answeredAt = now
      } else if !isGoingAway {
        ended[ended.count - 1].loss = loss(of: push, isKnown: completion.kind == .notSent)
      }
    }
    // Returns the pushes that the connection took and never began.
    guard isRetired || givesBack || failure != nil || isGoingAway, let part = waiting else { return }
    (waiting, givesBack) = (nil, false)
    for push in part.batch.pushes[part.range] {
      completions.append(PushCompletion(tag: push.tag, answer: PushAnswer(kind: .notSent)))
      ended.append(EndedPush(sentAt: now, generation: authorization.generation))
    }
  }

  /// - Parameter isKnown: whether it is certain that the service did not process the push.
  private func loss(of push: RequestSession.Ended, isKnown: Bool) -> Loss {
    if let failure {
      // If the connection worked and was closed before this push was sent completely, the push is not lost.
      if isEstablished, isKnown { return [] }
      if lossReason == nil { lossReason = failure.description }
      return .ofPush
    }
    if lossReason == nil { lossReason = NativeAnswer.lossReason(push.error) }
    // If no other push was answered after this push was sent, the connection may be dead.
    return push.error == .cancel && answeredAt <= push.startedAt ? .silence : .ofPush
  }

  func takeLossReason() -> String? {
    defer { lossReason = nil }
    return lossReason
  }

  var condition: ConnectionCondition {
    if let goAway = session?.goAway { return .goingAway(goAway.text) }
    if let failure { return .broken(failure.description) }
    return session?.isExhausted == true ? .exhausted : .working
  }

  private var isGoingAway: Bool { session?.goAway != nil }

  // MARK: Moving bytes

  func handle(_ event: Event, now: UInt64) {
    switch event {
    case .lookedUp(let result): recordAddresses(result, now)
    case .ready(let number):
      if link?.number == number { isBlocked = false } else { race?.ready(number) }
      isDue = true
    }
  }

  /// Records the addresses of the lookup.
  private func recordAddresses(_ result: Result<[SocketAddress], any Error>, _ now: UInt64) {
    guard phase == .lookingUp else { return }
    do {
      race = AddressRace(try result.get(), setup, tls: tls, context)
      phase = .connecting
      try connect(now)
    } catch { fail(error) }
  }

  /// Reads the available bytes, or continues to open the connection.
  func run(now: UInt64) -> UInt64 {
    guard isDue else { return now }
    isDue = false
    guard failure == nil else { return now }
    do {
      switch phase {
      case .lookingUp, .closed: break
      case .connecting: try connect(now)
      case .greeting, .open: try read(now)
      }
    } catch { fail(error) }
    return now
  }

  func flush() { write(all: true) }

  func endTurn() {}

  /// Writes the output of the session: only complete records, or everything if `all` is true.
  private func write(all: Bool) {
    guard failure == nil, !isBlocked, let stream = link?.stream, let session else { return }
    do {
      while true {
        let output = session.output
        guard output.count >= (all ? 1 : Self.record) else { break }
        let record = UnsafeRawBufferPointer(rebasing: output.prefix(Self.record))
        guard case .bytes(let count) = try stream.write(record) else {
          isBlocked = true
          break
        }
        session.wrote(count)
      }
      link?.wantsWrite = isBlocked
      if session.isFinished { fail(NativeFailure("the connection has ended")) }
    } catch {
      // Reads the service's last message, an alert or a GOAWAY, because it says more than the error of the write.
      do { try read(peerMonitor.receivedAt) } catch { fail(error) }
      fail(error)
    }
  }

  /// Checks the timeouts: connecting, silence, and pushes without an answer.
  func tick(now: UInt64) {
    guard failure == nil, phase != .closed else { return }
    guard phase == .open, let session else {
      if now >= deadline {
        fail(NativeFailure("could not connect to \(setup.target.withPort) in time"))
      } else if phase != .lookingUp {
        if now >= greetingDeadline { leaveAddress() }
        // An attempt with the next address may be due.
        if link == nil { do { try connect(now) } catch { fail(error) } }
      }
      return
    }
    do {
      try checkLiveness(session, now)
      guard now > setup.configuration.requestTimeout else { return }
      let time = now - setup.configuration.requestTimeout
      if !session.cancel(openedBefore: time) { fail(NativeFailure("the service accepts no more bytes")) }
    } catch { fail(error) }
  }

  private func checkLiveness(_ session: RequestSession, _ now: UInt64) throws {
    let maximumPings = setup.configuration.policy.maximumPings
    switch peerMonitor.next(isBusy: session.openCount > 0, setup.liveness, maximumPings: maximumPings, now: now) {
    case .none: break
    case .dead: fail(NativeFailure("the service didn't answer a PING: the connection is dead"))
    case .ping:
      try session.ping()
      write(all: true)
    }
  }

  // MARK: Opening

  /// Gives up the address that has answered but has not completed TLS or HTTP/2 in time.
  private func leaveAddress() {
    if let link { race?.leave(link) }
    link = nil
    session = nil
    greetingDeadline = .max
    phase = .connecting
  }

  private func connect(_ now: UInt64) throws {
    guard phase == .connecting, let race else { return }
    if link == nil {
      guard let link = try race.advance(now: now) else { return }
      self.link = link
      // The remaining addresses share the remaining time.
      greetingDeadline = now + (deadline > now ? deadline - now : 0) / UInt64(race.untried + 1)
    }
    guard let link, link.isReady else { return }
    peerMonitor.received(now: now)
    guard try link.advance() else { return }
    var settings = HTTP2Settings()
    settings.enablePush = false
    session = try RequestSession(
      capacity: setup.configuration.maximumStreams, settings: settings, firstStreamID: setup.firstStreamID)
    phase = .greeting
    write(all: true)
    try read(now)
  }

  // MARK: Reading

  private func read(_ now: UInt64) throws {
    guard let stream = link?.stream, let session else { return }
    if now &- countedSince >= Self.countingTime {
      countedSince = now
      session.allowMoreFrames()
    }
    for _ in 0..<Self.readsPerTurn {
      switch try stream.read(into: input) {
      case .bytes(let count):
        peerMonitor.received(now: now)
        do {
          try session.receive(UnsafeRawBufferPointer(rebasing: input[..<count]))
        } catch {
          // Writes the last frames, because they tell the peer the reason.
          if session.output.count <= Self.record, !isBlocked { _ = try? stream.write(session.output) }
          throw error
        }
        if session.goAwayCount != goAways, let goAway = session.goAway {
          goAways = session.goAwayCount
          let facts = GoAwayFacts(goAway, on: authorization, isEstablished: isEstablished)
          if let event = setup.configuration.service.event(of: facts) {
            context.onCredentialEvent(event)
          }
        }
        // The service first reports the number of streams that it accepts. Nothing is sent before that.
        if phase == .greeting, session.hasReceivedSettings { phase = .open }
      case .wantsRead, .wantsWrite: return
      case .closed: throw NativeFailure("\(setup.target.withPort) closed the connection")
      }
    }
    // More bytes may be available.
    isDue = true
  }

  // MARK: Closing

  private func fail(_ error: any Error) {
    guard failure == nil else { return }
    let failure = NativeFailure(error)
    self.failure = failure
    session?.abandon()
    // The engine must report the failure, even if a write caused the error.
    isDue = true
    guard let alert = failure.alert, authorization.identity != nil else { return }
    wasRefused = !isEstablished
    context.onCredentialEvent(.certificateRefused(alert, generation: authorization.generation))
  }

  func retire() { isRetired = true }

  func abandon() {
    retire()
    close()
  }

  /// Closes the connection, after a GOAWAY and the end of TLS if these can be written. Unanswered pushes end and are
  /// returned by ``takeEnded(_:_:now:)``.
  func close() {
    guard phase != .closed else { return }
    if failure == nil, let stream = link?.stream, let session {
      session.abandon()
      // This is best effort: the service sees the end of the connection in any case.
      session.finish()
      if session.output.count <= Self.record, !isBlocked { _ = try? stream.write(session.output) }
      stream.finishWriting()
    }
    phase = .closed
    race?.close()
    link?.close()
  }
}
