import Glibc
import PushCore
import Synchronization
import TLS
import TestSupport

@testable import FCM

/// A small token endpoint on a free port. It verifies assertions as Google does, or plays prepared answers.
final class TokenServer: Sendable {
  /// A prepared answer.
  enum Answer: Sendable {
    /// Verify the request, and issue a token for this number of seconds.
    case token(seconds: Int)
    /// Answer with this status, these header lines and this body.
    case fixed(Int, headers: String = "", body: String)
    /// Answer with this beginning, and then send the same bytes without end.
    case endless(String, bytes: String)
    /// Close the connection without an answer.
    case silence
  }

  private struct State {
    var answers: [Answer]
    /// Heads of the requests.
    var heads: [String] = []
    var issued = 0
    var clock: @Sendable () -> Int64
  }

  private let state: Mutex<State>
  private let server: Mutex<RawServer?>

  /// - Parameters:
  ///   - answers: in their order; the last one repeats.
  ///   - clock: the server's UNIX seconds.
  init(_ answers: [Answer], clock: @escaping @Sendable () -> Int64) throws {
    state = Mutex(State(answers: answers, clock: clock))
    server = Mutex(nil)
    let raw = try RawServer { [weak self] client in self?.serve(client) }
    server.withLock { $0 = raw }
  }

  deinit { server.withLock { $0?.stop() } }

  var port: UInt16 { server.withLock { $0?.port ?? 0 } }
  var heads: [String] { state.withLock { $0.heads } }

  private func serve(_ client: Int32) {
    guard let head = RawServer.readHead(of: client) else { return }
    let lengths = head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("content-length:") }
    let length = lengths.first.flatMap { Int($0.drop { $0 != " " }.dropFirst()) } ?? 0
    var body: [UInt8] = []
    while body.count < length {
      var part = [UInt8](repeating: 0, count: length - body.count)
      let count = recv(client, &part, part.count, 0)
      guard count > 0 else { return }
      body += part.prefix(count)
    }
    let (answer, now) = state.withLock { state in
      state.heads.append(head)
      return (state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0], state.clock())
    }
    switch answer {
    case .silence: return
    case .endless(let start, let bytes):
      guard RawServer.write(start, to: client) else { return }
      while RawServer.write(bytes, to: client) {}
    case .fixed(let status, let headers, let text): write(status, headers, text, to: client)
    case .token(let seconds):
      if head.hasPrefix("GET") { return issue(seconds, "metadata-flavor: Google\r\n", to: client) }
      let date = "date: \(Self.date(now))\r\n"
      guard let problem = problem(String(decoding: body, as: UTF8.self), now) else {
        return issue(seconds, date, to: client)
      }
      write(400, date, #"{"error":"invalid_grant","error_description":"\#(problem)"}"#, to: client)
    }
  }

  private func issue(_ seconds: Int, _ headers: String, to client: Int32) {
    let number = state.withLock { state in
      state.issued += 1
      return state.issued
    }
    write(
      200, headers, #"{"access_token":"ya29.token-\#(number)","expires_in":\#(seconds),"token_type":"Bearer"}"#,
      to: client)
  }

  /// Returns the error that Google would report for a request; `nil` for a valid one.
  private func problem(_ body: String, _ now: Int64) -> String? {
    let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
    guard body.hasPrefix(start), let parts = AccountKit.parts(of: String(body.dropFirst(start.count))),
      let key = try? RSAPublicKey(pem: AccountKit.key.publicPEM),
      key.verify(signature: parts.signature, of: parts.signed)
    else { return "Invalid JWT Signature." }
    let claims = try? JSONValue(parsing: Array(parts.claims.utf8), maximumDepth: 2)
    guard case .object(let members)? = claims?.kind, case .number(let text)? = members.value("iat")?.kind,
      let issuedAt = Int64(text), abs(issuedAt - now) <= 300
    else {
      return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
        + "Check your iat and exp values in the JWT claim."
    }
    return nil
  }

  private func write(_ status: Int, _ headers: String, _ body: String, to client: Int32) {
    _ = RawServer.write(
      "HTTP/1.1 \(status) Status\r\ncontent-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\(headers)"
        + "connection: close\r\n\r\n\(body)", to: client)
  }

  /// Returns a date in the form of HTTP, by the C library.
  private static func date(_ seconds: Int64) -> String {
    var time = time_t(seconds)
    var parts = tm()
    gmtime_r(&time, &parts)
    var text = [CChar](repeating: 0, count: 64)
    let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
