internal import Dispatch
internal import HTTP2
public import PushCore
public import TLS

/// One request on its own connection, with the complete answer. Single pushes, channel management, access tokens,
/// webhooks and health checks use it. Campaigns don't, because each request opens a connection and blocks a thread.
public enum HTTPExchange {
  /// Request to send.
  public struct Request: Sendable {
    /// `POST`, `GET` or `DELETE`.
    public var method: String
    /// Path of the URL, from the slash on.
    public var path: String
    /// Headers in the order in which they are sent, with names in lower case.
    public var headers: [Header]
    /// Body; `nil` for none.
    public var body: [UInt8]?
    /// Whether the exchange ends after the headers of the answer. If so, the body of the answer is not read.
    public var endsAtHeaders = false

    /// Creates an instance with these values.
    public init(method: String, path: String, headers: [Header], body: [UInt8]? = nil) {
      self.method = method
      self.path = path
      self.headers = headers
      self.body = body
    }
  }

  /// A header field.
  public typealias Header = PushRequest.Field

  /// Answer to the request.
  public struct Response: Sendable {
    /// The HTTP status.
    public var status: UInt16
    /// All headers in the order of the answer.
    public var headers: [Header]
    /// Body. At most the first 64 kB are read.
    public var body: [UInt8]

    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - headers: the headers in their order, with names in lower case.
    ///   - body: as received.
    public init(status: UInt16, headers: [Header], body: [UInt8]) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    /// Returns the value of the first header with this name.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The time of the header `date` in UNIX seconds; `nil` without a readable one.
    public var date: Int64? {
      guard var text = header("date") else { return nil }
      return text.withUTF8 { HTTPDate.seconds($0) }.map { Int64($0) }
    }
  }

  /// Reason for a missing answer.
  public struct Failure: Error, Sendable {
    /// Description for people.
    public var message: String
    /// Whether the service may have processed the request, although no answer arrived.
    public var isInDoubt: Bool
  }

  /// Allowed destinations of a request.
  public enum Reach: Sendable {
    /// All destinations, and a proxy if the endpoint or the environment names one.
    case any
    /// All destinations, without a proxy.
    case direct
    /// Only public addresses, regardless of the name, and without a proxy.
    case publicOnly
  }

  /// Sends the request and waits for the answer.
  ///
  /// - Parameters:
  ///   - endpoint: the URL and the trusted authorities.
  ///   - identity: the client certificate; `nil` for none.
  ///   - connectTimeout: ms for lookup, connection and TLS handshake.
  ///   - timeout: ms for the whole exchange.
  ///   - reach: the allowed destinations.
  public static func perform(
    _ request: Request, at endpoint: PushEndpoint, identity: TLSIdentity? = nil, connectTimeout: Int = 5000,
    timeout: Int = 30_000, reach: Reach = .any
  ) async throws(Failure) -> Response {
    let exchange = CurlExchange(
      request, endpoint: endpoint, identity: identity, connectTimeout: connectTimeout, timeout: timeout,
      reach: reach)
    // libcurl blocks, so it runs on a separate thread and not on one of the few threads of Swift's executor.
    let result = await withCheckedContinuation { continuation in
      DispatchQueue(label: "carillon.exchange").async { continuation.resume(returning: exchange.perform()) }
    }
    return try result.get()
  }
}
