internal import Dispatch
public import PushCore
public import TLS

/// One request to a push service on a connection of its own, and everything of the answer: for people who look, and for channel
/// management. Not for campaigns: it connects for every request, and holds a thread meanwhile.
public enum HTTPExchange {
  /// What is sent.
  public struct Request: Sendable {
    /// `POST`, `GET` or `DELETE`.
    public var method: String
    /// From the slash on.
    public var path: String
    /// Names in lower case, in the order in which they are sent.
    public var headers: [Header]
    /// `nil` sends none.
    public var body: [UInt8]?
    /// Whether the answer ends with its headers: then nothing of its body is read, however long that is.
    public var endsAtHeaders = false

    /// Memberwise.
    public init(method: String, path: String, headers: [Header], body: [UInt8]? = nil) {
      self.method = method
      self.path = path
      self.headers = headers
      self.body = body
    }
  }

  /// A header field.
  public typealias Header = PushRequest.Field

  /// What came back.
  public struct Response: Sendable {
    /// The HTTP status.
    public var status: UInt16
    /// Every header, in the order of the answer.
    public var headers: [Header]
    /// The body, of which at most the first 64 kB are read.
    public var body: [UInt8]

    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - headers: in their order; names in lower case.
    ///   - body: as received.
    public init(status: UInt16, headers: [Header], body: [UInt8]) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    /// The value of the first header of this name.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
  }

  /// Why there is no answer.
  public struct Failure: Error, Sendable {
    /// In words.
    public var message: String
    /// Whether the request may have been processed all the same.
    public var isInDoubt: Bool
  }

  /// Where a request may go.
  public enum Reach: Sendable {
    /// Anywhere, and by a proxy where the endpoint or the environment names one.
    case any
    /// Anywhere, and by no proxy.
    case direct
    /// By no proxy, and to no private address, whatever the name leads to.
    case publicOnly
  }

  /// Sends the request and waits for the answer.
  ///
  /// - Parameters:
  ///   - endpoint: where it is, and whom to trust there.
  ///   - identity: the certificate to show; `nil` for none.
  ///   - connectTimeout: ms to look up, connect and finish the TLS handshake.
  ///   - timeout: ms for the whole.
  ///   - reach: where it may go.
  public static func perform(
    _ request: Request, at endpoint: PushEndpoint, identity: TLSIdentity? = nil, connectTimeout: Int = 5000,
    timeout: Int = 30_000, reach: Reach = .any
  ) async throws(Failure) -> Response {
    let exchange = CurlExchange(
      request, endpoint: endpoint, identity: identity, connectTimeout: connectTimeout, timeout: timeout,
      reach: reach)
    // libcurl blocks: a thread of its own, not one of Swift's few.
    let result = await withCheckedContinuation { continuation in
      DispatchQueue(label: "carillon.exchange").async { continuation.resume(returning: exchange.perform()) }
    }
    return try result.get()
  }
}
