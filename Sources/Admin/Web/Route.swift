public import HTTPServer

/// A request on its way through a route.
public struct RouteCall: Sendable {
  public var request: HTTPRequest
  /// What stands in the path where the route has names.
  public var parameters: [String: String]
  /// Who asks; `nil` where the route asks nobody for a token.
  public var holder: AccessTokens.Holder?

  /// A value of the path.
  public func parameter(_ name: String) -> String { parameters[name] ?? "" }

  /// A value of the query; `nil` where it is not given.
  public func query(_ name: String) -> String? { request.query.first { $0.name == name }?.value }

  /// A whole number of the query.
  public func number(_ name: String, in range: ClosedRange<Int>, default value: Int) throws(Problem) -> Int {
    guard let text = query(name) else { return value }
    guard let number = Int(text), range.contains(number) else {
      throw Problem(
        400, "usage", "\(name): must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// One of some words of the query.
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

/// What is there to be asked for, and who may.
public struct Route: Sendable {
  /// Which names a query may have.
  public enum Query: Sendable {
    /// These; any other is an error.
    case names([String])
    /// Any, and none means anything, as probes, scrapers and links have names of their own.
    case ignored
  }

  public var method: String
  /// `/api/v1/campaigns/{id}`.
  public var path: String
  /// `nil` for everybody.
  public var scope: Scope?
  public var query: Query
  /// Bytes of a body at most; 0 for none.
  public var bodyLimit: Int
  /// Whether it is answered however many requests are under way.
  public var isProbe: Bool
  public var handle: @Sendable (RouteCall) async throws -> HTTPResponse
  /// Answers on the server's own thread, where no task is needed; `nil` where ``handle`` answers. Must not block.
  private(set) var answer: (@Sendable () -> HTTPResponse)?

  private let pieces: [String]

  /// Memberwise.
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

  /// A health check that is answered at once: also while no task runs.
  ///
  /// - Parameter answer: called on the server's only thread: must neither block nor take long.
  public static func probe(_ path: String, answer: @escaping @Sendable () -> HTTPResponse) -> Route {
    var route = probe(path) { _ in answer() }
    route.answer = answer
    return route
  }

  /// A health check or a scrape: for everybody, with any query.
  public static func probe(
    _ path: String, handle: @escaping @Sendable (RouteCall) async throws -> HTTPResponse
  ) -> Route {
    Route("GET", path, nil, query: .ignored, isProbe: true, handle: handle)
  }

  /// How a request for it is handled. What `view` allows changes nothing, so nobody needs it without the client.
  var terms: HTTPTerms {
    HTTPTerms(bodyLimit: bodyLimit, isProbe: isProbe, endsWithClient: method == "GET" || scope == .view)
  }

  /// The values of the names in the path; `nil` where the path is another's.
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

  /// Whether it answers a method: what is asked with HEAD is asked with GET, less the body (RFC 9110 section 9.3.2).
  func answers(_ method: String) -> Bool { self.method == method || self.method == "GET" && method == "HEAD" }

  /// Its methods, as the header Allow has them.
  var methods: [String] { method == "GET" ? ["GET", "HEAD"] : [method] }

  /// Throws where it could not read the body of a request, judged by its headers.
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

  /// Types of bodies that may be JSON: those that say so, and those that clients send unless told otherwise, as
  /// `curl --data` does.
  private static let types: Set<String> = [
    "application/json", "text/json", "text/plain", "application/octet-stream", "application/x-www-form-urlencoded",
  ]
}
