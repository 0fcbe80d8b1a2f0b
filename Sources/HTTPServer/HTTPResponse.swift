/// What a client gets.
public struct HTTPResponse: Sendable {
  /// What follows the headers.
  public enum Body: Sendable {
    /// These bytes.
    case bytes([UInt8])
    /// What is written while it is sent; what is thrown cuts the connection, so that the client sees that the rest is missing.
    case stream(@Sendable (HTTPBodyWriter) async throws -> Void)
  }

  public var status: Int
  /// Names and values without line breaks.
  public var headers: [(name: String, value: String)]
  public var body: Body

  /// Memberwise.
  public init(_ status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// A text of some type.
  public init(_ status: Int, _ text: String, type: String) {
    self.init(status, headers: [("Content-Type", type)], body: .bytes(Array(text.utf8)))
  }
}

/// What becomes of a request once its headers are there, before its body is read.
public enum HTTPAdmission: Sendable {
  /// It is answered like this at once, and its body is not kept.
  case refuse(HTTPResponse)
  /// Its body is read, of so many bytes at most, and then it is handled.
  case accept(HTTPTerms)
}

/// How a request is handled.
public struct HTTPTerms: Sendable {
  /// Bytes of a body at most; 0 for none.
  public var bodyLimit: Int
  /// Whether it is answered however many requests are under way (``HTTPServerOptions/requests``), as health checks are.
  public var isProbe: Bool
  /// Whether its task is cancelled when the client has gone. Not what changes something: it is finished, and written down.
  public var endsWithClient: Bool

  /// Memberwise.
  public init(bodyLimit: Int = 0, isProbe: Bool = false, endsWithClient: Bool = false) {
    self.bodyLimit = bodyLimit
    self.isProbe = isProbe
    self.endsWithClient = endsWithClient
  }
}

/// Decides about requests and answers them.
public protocol HTTPHandler: Sendable {
  /// Looks at a request without its body. Called on the server's only thread: it must neither block nor take long.
  func admit(_ request: HTTPRequest) -> HTTPAdmission
  /// Answers a request that was admitted and has come whole.
  func respond(to request: HTTPRequest) async -> HTTPResponse
  /// The answer to a request that the server itself refuses: 400, 413, 501 or 503.
  func refusal(status: Int, reason: String) -> HTTPResponse
}
