public import HTTPServer

/// A request that a route handles.
public struct RouteCall: Sendable {
  public var request: HTTPRequest
  /// Values from the path of the request, by their names in the route's path.
  public var parameters: [String: String]
  /// The holder of the token; `nil` if the route needs no token.
  public var holder: AccessTokens.Holder?

  /// Returns a value of the path.
  public func parameter(_ name: String) -> String { parameters[name] ?? "" }

  /// Returns a value of the query; `nil` if the query does not have the name.
  public func query(_ name: String) -> String? { request.query.first { $0.name == name }?.value }

  /// Returns a value of the query as an integer; `value` if the query does not have the name.
  public func number(_ name: String, in range: ClosedRange<Int>, default value: Int) throws(Problem) -> Int {
    guard let text = query(name) else { return value }
    guard let number = Int(text), range.contains(number) else {
      throw Problem(
        400, "usage", "\(name): must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns one of several words of the query.
  public func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, _: Choice.Type
  ) throws(Problem) -> Choice? {
    guard let text = query(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw Problem(
        400, "usage", "\(name): must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return choice
  }
}

/// An endpoint of the server, with the scope that it requires.
public struct Route: Sendable {
  /// Names that are allowed in a query.
  public enum Query: Sendable {
    /// Only these names. A query with any other name gets an error.
    case names([String])
    /// Any names. The route ignores the query, because probes, scrapers and links add names of their own.
    case ignored
  }

  public var method: String
  /// Path with names in braces, such as `/api/v1/campaigns/{id}`.
  public var path: String
  /// Required scope; `nil` if no token is needed.
  public var scope: Scope?
  public var query: Query
  /// Limit of the body in bytes; 0 for no body.
  public var bodyLimit: Int
  /// Whether the limit on requests in progress does not apply, as for a health check.
  public var isProbe: Bool
  public var handle: @Sendable (RouteCall) async throws -> HTTPResponse
  /// Makes the response on the server's own thread, without a task; `nil` if ``handle`` makes it. Must not block.
  private(set) var answer: (@Sendable () -> HTTPResponse)?

  private let pieces: [String]

  /// Creates a route from its parts.
  public init(
    _ method: String, _ path: String, _ scope: Scope?, query: Query = .names([]), bodyLimit: Int = 0,
    isProbe: Bool = false, handle: @escaping @Sendable (RouteCall) async throws -> HTTPResponse
  ) {
    self.method = method
    self.path = path
    self.scope = scope
    self.query = query
    self.bodyLimit = bodyLimit
    self.isProbe = isProbe
    self.handle = handle
    pieces = path.split(separator: "/").map(String.init)
  }

  /// Creates a health check that is answered on the server's thread, even if no task can run.
  ///
  /// - Parameter answer: called on the server's only thread. It must neither block nor take long.
  public static func probe(_ path: String, answer: @escaping @Sendable () -> HTTPResponse) -> Route {
    var route = probe(path) { _ in answer() }
    route.answer = answer
    return route
  }

  /// Creates the route of a health check or of a Prometheus scrape. It needs no token and accepts any query.
  public static func probe(
    _ path: String, handle: @escaping @Sendable (RouteCall) async throws -> HTTPResponse
  ) -> Route {
    Route("GET", path, nil, query: .ignored, isProbe: true, handle: handle)
  }

  /// How the server handles a request to this route. A request with scope `view` changes nothing, so it is cancelled
  /// when its client disconnects.
  var terms: HTTPTerms {
    HTTPTerms(bodyLimit: bodyLimit, isProbe: isProbe, endsWithClient: method == "GET" || scope == .view)
  }

  /// Returns the values of the names in the path; `nil` if the path does not match.
  func match(_ path: [String]) -> [String: String]? {
    guard path.count == pieces.count else { return nil }
    var values: [String: String] = [:]
    for (piece, given) in zip(pieces, path) {
      if piece.hasPrefix("{") {
        values[String(piece.dropFirst().dropLast())] = given
      } else if piece != given {
        return nil
      }
    }
    return values
  }

  /// Returns whether the route supports a method. HEAD is GET without the body (RFC 9110 section 9.3.2).
  func answers(_ method: String) -> Bool { self.method == method || self.method == "GET" && method == "HEAD" }

  /// The supported methods for the header Allow.
  var methods: [String] { method == "GET" ? ["GET", "HEAD"] : [method] }

  /// Throws if the headers show that the route can't read the body of the request.
  func checkBody(of request: HTTPRequest) throws(Problem) {
    guard bodyLimit > 0 else { return }
    if let encoding = request.header("Content-Encoding"), encoding.lowercased() != "identity" {
      throw Problem(
        415, "usage", "the content-encoding is not supported", hint: "send the body as it is",
        headers: ["Accept-Encoding": "identity"])
    }
    guard let type = request.header("Content-Type") else { return }
    let words = type.lowercased().split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
    let (name, options) = (words.first ?? "", words.dropFirst())
    let isText = Self.types.contains(name) || name.hasPrefix("application/") && name.hasSuffix("+json")
    let isUnicode = options.allSatisfy { option in
      !option.hasPrefix("charset=")
        || ["utf-8", "utf8", "us-ascii"].contains(option.dropFirst(8).filter { $0 != "\"" })
    }
    guard isText, isUnicode else {
      throw Problem(415, "usage", "the content-type is not JSON in UTF-8", hint: "send Content-Type: application/json")
    }
  }

  /// Media types of bodies that may be JSON: JSON types, and default types of clients such as `curl --data`.
  private static let types: Set<String> = [
    "application/json", "text/json", "text/plain", "application/octet-stream", "application/x-www-form-urlencoded",
  ]
}
