/// The answer to a client.
public struct HTTPResponse: Sendable {
  /// The content after the headers.
  public enum Body: Sendable {
    /// These bytes.
    case bytes([UInt8])
    /// A body that is written while it is sent. An error closes the connection, so that the client detects a truncated
    /// body.
    case stream(@Sendable (HTTPBodyWriter) async throws -> Void)
  }

  public var status: Int
  /// Names and values without line breaks.
  public var headers: [(name: String, value: String)]
  public var body: Body

  /// Creates a response from its parts.
  public init(_ status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Creates a response with a text of a content type.
  public init(_ status: Int, _ text: String, type: String) {
    self.init(status, headers: [("Content-Type", type)], body: .bytes(Array(text.utf8)))
  }
}

/// The decision about a request after its headers and before its body.
public enum HTTPAdmission: Sendable {
  /// Answer the request immediately with this response, and discard its body.
  case refuse(HTTPResponse)
  /// Read the body within the limit of the terms, then handle the request.
  case accept(HTTPTerms)
}

/// The terms for handling a request.
public struct HTTPTerms: Sendable {
  /// Maximum bytes of the body; 0 for none.
  public var bodyLimit: Int
  /// Whether the request is a health check, to which the limit on requests in progress (``HTTPServerOptions/requests``)
  /// does not apply.
  public var isProbe: Bool
  /// Whether the task of the request is cancelled when the client disconnects. Use `false` for a request that changes
  /// data, because it must be finished and recorded.
  public var endsWithClient: Bool

  /// Creates terms from their values.
  public init(bodyLimit: Int = 0, isProbe: Bool = false, endsWithClient: Bool = false) {
    self.bodyLimit = bodyLimit
    self.isProbe = isProbe
    self.endsWithClient = endsWithClient
  }
}

/// Decides about requests and answers them.
public protocol HTTPHandler: Sendable {
  /// Decides about a request without its body. Called on the server's only thread, so it must neither block nor take
  /// long.
  func admit(_ request: HTTPRequest) -> HTTPAdmission
  /// Answers a request that was admitted and has arrived completely.
  func respond(to request: HTTPRequest) async -> HTTPResponse
  /// Returns the answer to a request that the server itself refuses: 400, 413, 501 or 503.
  func refusal(status: Int, reason: String) -> HTTPResponse
}
