import PushCore
import PushTransport
import Synchronization
import TLS
import TestKit
import TestSupport
import Testing

@testable import FCM

/// The source with its real client and a small token endpoint. The clock belongs to the test.
@Suite struct AccessTokenSourceTests {
  private let clock = ManualClock()

  private func server(_ answers: TokenServer.Answer..., ahead: Int64 = 0) throws -> TokenServer {
    try TokenServer(answers) { [clock] in clock.wall + ahead }
  }

  private func source(_ server: TokenServer) throws -> AccessTokenSource {
    let account = try AccountKit.account(port: server.port)
    return AccessTokenSource(
      mint: ServiceAccountMint(account, trustRoots: nil, proxy: nil), account: account, clock: clock.clock)
  }

  private func text(_ authorization: PushAuthorization?) -> String? {
    guard case .token(let token)? = authorization else { return nil }
    return token.text
  }

  @Test func fiftyCallersCauseOneRequest() async throws {
    let server = try server(.token(seconds: 3599))
    let source = try source(server)
    let texts = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<50 { group.addTask { text(await source.firstAuthorization()) } }
      return await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    expect(texts, is: ["ya29.token-1"])
    expect(server.heads.count, is: 1)
    let head = try #require(server.heads.first)
    expect(head.hasPrefix("POST /token HTTP/1.1\r\n"))
    expect(head.lowercased().contains("content-type: application/x-www-form-urlencoded\r\n"))
  }

  @Test func tokenIsRenewedBeforeItsEndAndObserversLearnIt() async throws {
    let server = try server(.token(seconds: 3599))
    let source = try source(server)
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    var change = changes.makeAsyncIterator()
    source.observe { continuation.yield() }
    expect(source.authorization(), is: nil)
    await change.next()
    let first = try #require(source.authorization())
    expect(text(first), is: "ya29.token-1")
    await clock.timers(1)
    clock.advance(clock.untilLastTimer)
    await change.next()
    let second = try #require(source.authorization())
    expect(text(second), is: "ya29.token-2")
    expect(second.generation, is: first.generation + 1)
    expect(server.heads.count, is: 2)
    // FCM refuses the token before its end.
    source.record(.tokenExpired(generation: second.generation))
    source.record(.tokenExpired(generation: second.generation))
    expect(source.stopped, is: nil)
    await change.next()
    if source.authorization() == nil { await change.next() }
    expect(text(source.authorization()), is: "ya29.token-3")
    expect(server.heads.count, is: 3)
    source.record(.tokenExpired(generation: second.generation + 1))
    expect(source.stopped, is: CredentialReason.tokenRefused)
    expect(source.explain(CredentialReason.tokenRefused).contains("status 401"))
  }

  @Test func endpointThatIsDownDelaysPushesAndTheSourceRecovers() async throws {
    let server = try server(
      .fixed(503, body: "<html>busy</html>"), .silence, .fixed(429, body: "{}"), .token(seconds: 3599))
    let source = try source(server)
    expect(source.authorization(), is: nil)
    await clock.timers(1)
    expect(source.delay, is: nil)
    clock.advance(clock.untilLastTimer)
    await clock.timers(2)
    clock.advance(clock.untilLastTimer)
    await clock.timers(3)
    expect(source.stopped, is: nil)
    let delay = try #require(source.delay)
    expect(delay.contains("http://127.0.0.1:\(server.port) answered with status 429; check"), "\(delay)")
    // A command gives up instead of waiting for minutes.
    expect(await source.firstAuthorization(), is: nil)
    clock.advance(clock.untilLastTimer)
    await clock.timers(4)
    expect(source.delay, is: nil)
    expect(text(source.authorization()), is: "ya29.token-1")
  }

  /// An answer without end: its beginning, and the bytes that repeat.
  private enum Endless: CaseIterable {
    case body, chunks, headers, interimAnswers

    var answer: TokenServer.Answer {
      let kilobyte = String(repeating: "x", count: 1024)
      return switch self {
      case .body: .endless("HTTP/1.1 200 OK\r\n\r\n", bytes: kilobyte)
      case .chunks:
        .endless("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", bytes: "400\r\n\(kilobyte)\r\n")
      case .headers: .endless("HTTP/1.1 200 OK\r\n", bytes: "x-a: \(kilobyte)\r\n")
      case .interimAnswers: .endless("", bytes: "HTTP/1.1 100 Continue\r\n\r\n")
      }
    }
  }

  /// A token endpoint that sends data without end keeps no thread, and proves nothing about the key.
  @Test(arguments: Endless.allCases)
  private func answerWithoutEndIsADelay(endless: Endless) async throws {
    let server = try server(endless.answer)
    let mint = ServiceAccountMint(try AccountKit.account(port: server.port), trustRoots: nil, proxy: nil)
    let began = ContinuousClock.now
    guard case .later = await mint.token(at: clock.wall) else {
      Issue.record("an endless answer is no answer")
      return
    }
    // The time limit of the exchange is 20 s.
    expect(ContinuousClock.now - began < .seconds(15))
  }

  @Test func closedPortIsADelayToo() async throws {
    let account = try AccountKit.account(port: FreePort.find())
    let mint = ServiceAccountMint(account, trustRoots: nil, proxy: nil)
    guard case .later(let text) = await mint.token(at: clock.wall) else {
      Issue.record("a closed port proves nothing about the key")
      return
    }
    expect(text.contains("check the network"))
  }

  @Test func deletedKeyStopsUntilItIsReplaced() async throws {
    let refusal = #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#
    let server = try server(.fixed(400, body: refusal), .token(seconds: 3599))
    let source = try source(server)
    expect(await source.firstAuthorization(), is: nil)
    expect(source.stopped, is: CredentialReason.keyRefused)
    let text = source.explain(CredentialReason.keyRefused)
    expect(text.contains("status 400, invalid_grant: Invalid JWT Signature.; the key was deleted; make a new key"))
    expect(text.contains("push@demo-project.iam.gserviceaccount.com"))
    // The same key changes nothing.
    source.replace(account: try AccountKit.account(port: server.port))
    expect(source.stopped != nil)
    let other = AccountKit.json([
      "token_uri": "http://127.0.0.1:\(server.port)/token", "private_key_id": "new",
    ])
    source.replace(account: try ServiceAccount(json: other))
    expect(source.stopped, is: nil)
    expect(self.text(await source.firstAuthorization()), is: "ya29.token-1")
  }

  @Test func resumeTriesAStoppedKeyAgain() async throws {
    let server = try server(.fixed(401, body: #"{"error":"invalid_client"}"#), .token(seconds: 3599))
    let source = try source(server)
    source.resume()
    expect(server.heads.isEmpty)
    expect(await source.firstAuthorization(), is: nil)
    expect(source.stopped != nil)
    source.resume()
    expect(text(await source.firstAuthorization()), is: "ya29.token-1")
  }

  @Test(arguments: [-600, 600] as [Int64])
  func wrongClockIsCorrectedByTheEndpoint(ahead: Int64) async throws {
    let server = try server(.token(seconds: 3599), ahead: -ahead)
    let source = try source(server)
    expect(text(await source.firstAuthorization()), is: "ya29.token-1")
    expect(server.heads.count, is: 2)
    expect(abs(source.clockError - ahead) <= 1, "\(source.clockError)")
  }

  @Test func fleetClockIsUsedForTheAssertion() async throws {
    let server = try server(.token(seconds: 3599), ahead: 600)
    let source = try source(server)
    source.setOffset(600)
    expect(text(await source.firstAuthorization()), is: "ya29.token-1")
    expect(server.heads.count, is: 1)
  }

  @Test func clockIsNamedIfItsCorrectionDoesNotHelp() async throws {
    let date = "date: Fri, 15 Jan 2027 07:50:00 GMT\r\n"
    let server = try server(.fixed(400, headers: date, body: #"{"error":"invalid_grant"}"#))
    let source = try source(server)
    expect(await source.firstAuthorization(), is: nil)
    expect(source.stopped, is: CredentialReason.keyRefused)
    expect(source.explain(CredentialReason.keyRefused).contains("this machine's clock is 600 s ahead"))
  }

  @Test func releasedSourceSendsNoMoreRequests() async throws {
    let server = try server(.token(seconds: 3599))
    var source: AccessTokenSource? = try source(server)
    _ = await source?.firstAuthorization()
    await clock.timers(1)
    weak let reference = source
    source = nil
    // The task of the request may hold the last reference for a moment.
    try await poll(until: "the source is released", every: .milliseconds(1)) { reference == nil }
    clock.advance(clock.untilLastTimer)
    expect(server.heads.count, is: 1)
  }

  @Test func metadataServerIssuesTokens() async throws {
    let server = try server(.token(seconds: 1800))
    let source = AccessTokenSource(mint: MetadataServer(host: "127.0.0.1:\(server.port)"), clock: clock.clock)
    expect(text(await source.firstAuthorization()), is: "ya29.token-1")
    let head = try #require(server.heads.first).lowercased()
    expect(
      head.hasPrefix(
        "get /computemetadata/v1/instance/service-accounts/default/token?scopes="
          + "https://www.googleapis.com/auth/firebase.messaging http/1.1\r\n"))
    expect(head.contains("\r\nmetadata-flavor: google\r\n"))
    await clock.timers(1)
    expect((1_560_000...1_620_000).contains(clock.untilLastTimer))
  }

  @Test(arguments: [
    (TokenServer.Answer.fixed(200, body: "{}"), "does not answer like the server of Google Cloud"),
    (.fixed(404, headers: "metadata-flavor: Google\r\n", body: "x"), "status 404; attach a service account"),
    (.fixed(200, headers: "metadata-flavor: Google\r\n", body: "{}"), "without a usable access_token"),
    (.silence, "can't be reached"),
  ])
  func otherAnswersOfTheMetadataServerAreDelays(answer: TokenServer.Answer, words: String) async throws {
    let server = try server(answer)
    guard case .later(let text) = await MetadataServer(host: "127.0.0.1:\(server.port)").token(at: 0) else {
      Issue.record("only a delay")
      return
    }
    expect(text.contains(words), "\(text)")
  }
}
