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
  public var method: String
  /// `/api/v1/campaigns/{id}`.
  public var path: String
  /// `nil` for everybody.
  public var scope: Scope?
  /// Names that the query may have; any other is an error.
  public var query: [String]
  /// Bytes of a body at most; 0 for none.
  public var bodyLimit: Int
  public var handle: @Sendable (RouteCall) async throws -> HTTPResponse

  private let pieces: [String]

  /// Memberwise.
  public init(
    _ method: String, _ path: String, _ scope: Scope?, query: [String] = [], bodyLimit: Int = 0,
    handle: @escaping @Sendable (RouteCall) async throws -> HTTPResponse
  ) {
    self.method = method
    self.path = path
    self.scope = scope
    self.query = query
    self.bodyLimit = bodyLimit
    self.handle = handle
    pieces = path.split(separator: "/").map(String.init)
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
}
