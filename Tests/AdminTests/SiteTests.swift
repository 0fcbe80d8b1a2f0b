@testable import Admin
import Dispatch
import HTTPServer
import TestKit
import Testing

struct SiteTests {
  private let token = AccessTokens.make()

  private func site() throws -> Site {
    let tokens = try AccessTokens(parsing: AccessTokens.line(name: "looker", scopes: [.view], token: token))
    return Site(
      [
        Route("GET", "/open", nil) { _ in .init(200, "open", type: "text/plain") },
        Route("GET", "/things/{id}", .view, query: .names(["limit"])) { call in
          .init(200, "\(call.parameter("id")) \(try call.number("limit", in: 1...10, default: 5))", type: "text/plain")
        },
        Route("DELETE", "/things/{id}", .operate) { _ in .init(204) },
      ], tokens: tokens
    ) { Problem(500, "defect", "\($0)") }
  }

  private func ask(
    _ site: Site, _ method: String, _ path: [String], query: [(String, String)] = [], token: String? = nil
  ) async -> (status: Int, text: String) {
    let request = HTTPRequest(
      method: method, path: path, query: query.map { (name: $0.0, value: $0.1) },
      headers: token.map { [(name: "authorization", value: "Bearer \($0)")] } ?? [])
    let response =
      switch site.admit(request) {
      case .refuse(let response): response
      case .accept: await site.respond(to: request)
      }
    guard case .bytes(let bytes) = response.body else { return (response.status, "") }
    return (response.status, String(decoding: bytes, as: UTF8.self))
  }

  @Test func scopeDecidesOnTheServer() async throws {
    let site = try site()
    expect(await ask(site, "GET", ["open"]) == (200, "open"))
    expect(await ask(site, "GET", ["things", "a"]).status, is: 401)
    expect(await ask(site, "GET", ["things", "a"], token: "carillon_0").status, is: 401)
    expect(await ask(site, "GET", ["things", "a b"], token: token) == (200, "a b 5"))
    let forbidden = await ask(site, "DELETE", ["things", "a"], token: token)
    expect(forbidden.status == 403 && forbidden.text.contains("lacks the scope operate"))
    expect(forbidden.text.contains(#""type":"about:blank""#) && forbidden.text.contains(#""code":"forbidden""#))
  }

  @Test func unknownPathMethodAndQueryHaveTheirOwnStatus() async throws {
    let site = try site()
    expect(await ask(site, "GET", ["nothing"]).status, is: 404)
    expect(await ask(site, "POST", ["open"]).status, is: 405)
    expect(await ask(site, "HEAD", ["open"]).status, is: 200)
    for query in [[("limit", "0")], [("limit", "x")], [("lmit", "1")], [("limit", "1"), ("limit", "2")]] {
      expect(await ask(site, "GET", ["things", "a"], query: query, token: token).status, is: 400, "\(query)")
    }
    expect(await ask(site, "GET", ["things", "a"], query: [("limit", "7")], token: token) == (200, "a 7"))
  }

  /// Liveness names exactly the parts that have not answered within their deadline.
  @Test func livenessNamesWhatIsStuck() async throws {
    let now = DispatchTime.now().uptimeNanoseconds
    let liveness = Liveness([
      Liveness.Part("a call", within: .seconds(20)) { now - 30_000_000_000 },
      Liveness.Part("a quick call", within: .seconds(60)) { now - 30_000_000_000 },
      Liveness.Part("no call", within: .seconds(1)) { nil },
    ])
    expect(!liveness.isAlive)
    let site = Site([liveness.route], tokens: AccessTokens()) { Problem(500, "defect", "\($0)") }
    expect(await ask(site, "GET", ["livez"]) == (503, "no progress: a call for 30 s\n"))
    // The probe needs no task.
    guard case .refuse = site.admit(HTTPRequest(method: "GET", path: ["livez"], query: [], headers: [])) else {
      throw CancellationError()
    }
  }

  /// A part is stuck while it does not answer, and alive again after its answer.
  @Test func partThatAnswersLateIsAliveAgain() async throws {
    let (asked, ask) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
    let liveness = Liveness([Liveness.Part("late", within: .zero, asking: { ask.yield($0) })])
    var answers = asked.makeAsyncIterator()
    let answer = try #require(await answers.next())
    expect(!liveness.isAlive)
    answer()
    expect(liveness.isAlive)
    // The check asks the part again.
    _ = try #require(await answers.next())
  }

  @Test("a client that guesses tokens is slowed down; a client with a token is not")
  func guessing() async throws {
    let site = try site()
    var last = (status: 0, text: "")
    for number in 0..<60 { last = await ask(site, "GET", ["things", "a"], token: "carillon_\(number)") }
    expect(last.status, is: 429)
    expect(await ask(site, "GET", ["things", "a"], token: token).status, is: 200)
  }

  @Test func oneTokenHasABoundedRate() async throws {
    let site = try site()
    var statuses: Set<Int> = []
    for _ in 0..<2000 { statuses.insert(await ask(site, "GET", ["things", "a"], token: token).status) }
    expect(statuses, is: [200, 429])
  }

  @Test func revokedTokenIsInvalidImmediately() async throws {
    let site = try site()
    site.replace(AccessTokens())
    expect(await ask(site, "GET", ["things", "a"], token: token).status, is: 401)
  }
}
