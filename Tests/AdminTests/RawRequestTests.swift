import Admin
import HTTPServer
import TestKit
import TestSupport
import Testing

/// Answers of a server behind a proxy to raw requests. Each row has one request, and all rows use one server.
@Suite(.timeLimit(.minutes(6))) struct RawRequestTests {
  private struct Row {
    var name: String
    /// The request, with its line breaks.
    var request: String
    var status: Int
    /// Status if libmicrohttpd 1.0 itself refuses the request; 0 if it closes the connection without an answer.
    var newer: Int?
    /// Text that the answer must contain.
    var has: String?
    /// Whether the server answers no later request on this connection.
    var ends: Bool

    init(
      _ name: String, _ request: String, _ status: Int, newer: Int? = nil, has: String? = nil, ends: Bool = true
    ) {
      (self.name, self.request, self.status, self.newer) = (name, request, status, newer)
      (self.has, self.ends) = (has, ends)
    }
  }

  private static let host = "Host: x\r\n"
  /// Returns a GET request with its request line and headers.
  private static func get(_ target: String, _ more: String = "") -> String {
    "GET \(target) HTTP/1.1\r\n\(host)\(more)\r\n"
  }

  private static func post(_ more: String, _ body: String = "") -> String {
    "POST /job HTTP/1.1\r\n\(host)\(more)\r\n\r\n\(body)"
  }

  private static let many = (0..<700).map { "name\($0)=1" }.joined(separator: "&")

  // A row's name is its error; a valid request is named after its content.
  private static let rows: [Row] =
    [
      // Targets (RFC 9112 section 3.2).
      Row("a path", get("/probe"), 200, has: "probe", ends: false),
      Row("a probe with a query", get("/probe?from=balancer&a=%20"), 200, has: "probe", ends: false),
      Row("a whole URL", get("http://any.example:8080/probe"), 200, has: "probe", ends: false),
      Row("a whole URL without a path", get("HTTPS://any.example?x"), 200, has: "page", ends: false),
      Row("a whole URL without a host", get("http:///probe"), 400),
      Row("a URL of another scheme", get("ftp://any.example/probe"), 400),
      Row("700 names in a query", get("/probe?\(many)"), 400, newer: 431, has: "more than 64 names"),
      Row("a query that nobody knows", get("/job?x=1"), 405, ends: false),
      Row("an asterisk", "OPTIONS * HTTP/1.1\r\n\(host)\r\n", 404, ends: false),
      Row("an authority", "CONNECT x:80 HTTP/1.1\r\n\(host)\r\n", 400),
      Row("a path that is no UTF-8", get("/%ff"), 400),
      Row("a NUL, encoded", get("/pro%00be"), 400),
      Row("a NUL in the path", get("/pro\0be"), 400, newer: 0),
      Row("a NUL behind the path", get("/probe\0"), 400, newer: 0),
      Row("a CR in the path", get("/pro\rbe"), 400),
      Row("a blank in the path", get("/pro be"), 400),
      Row("two blanks in front of the path", get(" /probe"), 400),
      // Lines and headers (RFC 9112 sections 2.2 and 5, RFC 9110 section 5.5).
      Row("HTTP/1.0 without a host", "GET /probe HTTP/1.0\r\n\r\n", 200, has: "probe"),
      Row("no version", "GET /probe\r\n\(host)\r\n", 400),
      Row("HTTP/1.1 without a host", "GET /probe HTTP/1.1\r\n\r\n", 400),
      Row("two hosts", get("/probe", host), 400),
      Row("a host that is a URL", "GET /probe HTTP/1.1\r\nHost: http://x/\r\n\r\n", 400),
      Row("a blank before a colon", "GET /probe HTTP/1.1\r\nHost : x\r\n\r\n", 400),
      Row("a name that is none", get("/probe", "X(: y\r\n"), 400),
      Row("a line without a colon", get("/probe", "X\r\n"), 400),
      Row("a folded line", get("/probe", "X: a\r\n b\r\n"), 400),
      Row("a folded length", post("X: a\r\nContent-Length: 5\r\n x: y"), 400),
      Row("a fold as the first line", "GET /probe HTTP/1.1\r\n X: a\r\n\(host)\r\n", 400),
      Row("a NUL in a value", get("/probe", "X: a\0b\r\n"), 400),
      Row("a NUL in a name", get("/probe", "X\0Y: a\r\n"), 400),
      Row("a NUL as a line's beginning", get("/probe", "\0X: a\r\n"), 400),
      Row("a CR in a value", get("/probe", "X: a\rb\r\n"), 400),
      Row("a bare LF between headers", get("/probe", "X: a\nY: b\r\n"), 400),
      Row("bare LFs alone", "GET /probe HTTP/1.1\nHost: x\n\n", 400),
      Row(
        "80 headers of 200 bytes",
        get("/probe", (0..<80).map { "X-\($0): \(String(repeating: "v", count: 200))\r\n" }.joined()), 200,
        has: "probe", ends: false),
      Row("an empty value", get("/probe?", "X:\r\nY: \r\n"), 200, has: "probe", ends: false),
      Row("cookies", get("/probe", "Cookie: a=b; c=\"d e\"; f\r\n"), 200, has: "probe", ends: false),
      Row("blanks around a value", get("/probe", "X: \t a b \t\r\n"), 200, has: "probe", ends: false),
      // Bodies (RFC 9112 section 6, RFC 9110 sections 8.3 and 8.4).
      Row("a length", post("Content-Length: 2", "{}"), 200, has: "job {}", ends: false),
      Row("chunks", post("Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\n\r\n"), 200, has: "job {}"),
      Row("chunks with bare LFs", post("Transfer-Encoding: chunked", "2\n{}\n0\n\n"), 200, newer: 400, has: "job {}"),
      Row("a length and chunks", post("Content-Length: 4\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), 400),
      Row("chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 4", "0\r\n\r\n"), 400),
      Row("two lengths", post("Content-Length: 2\r\nContent-Length: 3", "{} "), 400),
      Row("a length that is none", post("Content-Length: +2", "{}"), 400),
      Row("a length without end", post("Content-Length: 99999999999999999999", "{}"), 413),
      Row("a blank before the colon of a length", post("Content-Length : 2", "{}"), 400),
      Row("two encodings", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), 400),
      Row("an encoding that is not known", post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), 501, newer: 400),
      Row("chunks that are not the last encoding", post("Transfer-Encoding: chunked, gzip", "0\r\n\r\n"), 400),
      Row(
        "chunks of HTTP/1.0", post("Transfer-Encoding: chunked", "0\r\n\r\n").replacing("HTTP/1.1", with: "HTTP/1.0"),
        400),
      Row(
        "a compressed body", post("Content-Encoding: gzip\r\nContent-Length: 2", "{}"), 415,
        has: "Accept-Encoding: identity", ends: false),
      Row("a body of another type", post("Content-Type: text/xml\r\nContent-Length: 2", "{}"), 415, ends: false),
      Row(
        "JSON that is not UTF-8", post("Content-Type: application/json; charset=utf-16\r\nContent-Length: 2", "{}"),
        415, ends: false),
      Row(
        "JSON in UTF-8", post("Content-Type: application/json; charset=\"UTF-8\"\r\nContent-Length: 2", "{}"), 200,
        has: "job {}", ends: false),
      Row(
        "what curl calls a body", post("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2", "{}"),
        200, has: "job {}", ends: false),
      // Methods (RFC 9110 sections 9 and 15.5.6).
      Row("another method", "DELETE /probe HTTP/1.1\r\n\(host)\r\n", 405, has: "Allow: GET, HEAD", ends: false),
      Row(
        "another method of two", "PATCH /both HTTP/1.1\r\n\(host)\r\n", 405, has: "Allow: DELETE, GET, HEAD",
        ends: false),
      Row("a method that is no token", "G(T /probe HTTP/1.1\r\n\(host)\r\n", 400),
    ]

  /// Follows every request. An answer to it shows that the connection stayed open.
  private static let next = "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test("raw requests and their answers")
  func table() async throws {
    let text = { @Sendable (text: String) in HTTPResponse(200, "<\(text)>", type: "text/plain") }
    let site = Site(
      [
        Route("GET", "/", nil, query: .ignored) { _ in text("page") }, .probe("/probe") { _ in text("probe") },
        Route("GET", "/next", nil) { _ in text("next") }, Route("GET", "/both", nil) { _ in text("both") },
        Route("DELETE", "/both", nil) { _ in text("both") },
        Route("POST", "/job", nil, bodyLimit: 100) { call in
          text("job \(String(decoding: call.request.body, as: UTF8.self))")
        },
      ], tokens: AccessTokens()
    ) { Problem(500, "defect", "\($0)") }
    var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
    // If the server neither answers nor closes a connection, the test fails.
    (options.idleTimeout, options.requestDeadline) = (600, 600)
    let server = try HTTPServer(options, handler: site)
    for row in Self.rows {
      let answer = try await RawClient.exchange(row.request + Self.next, port: server.port)
      let status = answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      expect(status == row.status || status == row.newer, "\(row.name): \(answer)")
      expect(status != row.status || row.has.map(answer.contains) ?? true, "\(row.name): \(answer)")
      expect(answer.contains("<next>") != row.ends, "\(row.name): \(answer)")
    }
    await server.stop(within: .seconds(1))
  }
}
