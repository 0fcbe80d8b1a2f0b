internal import Dispatch
public import PushCore
public import TLS

/// One request to APNs on a connection of its own, and everything of the answer: for people who look, and for channel
/// management. Not for campaigns: it connects for every request, and holds a thread meanwhile.
public enum APNsExchange {
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

    /// Memberwise.
    public init(method: String, path: String, headers: [Header], body: [UInt8]? = nil) {
      self.method = method
      self.path = path
      self.headers = headers
      self.body = body
    }
  }

  /// A header field.
  public struct Header: Sendable, Equatable {
    public var name: String
    public var value: String

    /// Memberwise.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// What came back.
  public struct Response: Sendable {
    /// The HTTP status.
    public var status: UInt16
    /// Every header, in the order of the answer.
    public var headers: [Header]
    /// The body, of which the first 64 kB are kept.
    public var body: [UInt8]
    /// The reason of a rejection.
    public let reason: Reason
    /// Apple's word for it, known to us or not; `nil` for none.
    public let reasonText: String?
    /// With 410: when APNs found the token dead, in ms since the epoch; 0 when absent.
    public let timestamp: UInt64

    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - headers: in their order; names in lower case.
    ///   - body: as received.
    public init(status: UInt16, headers: [Header], body: [UInt8]) {
      self.status = status
      self.headers = headers
      self.body = body
      let content = body.withUnsafeBytes { ResponseBody($0) }
      reason = content.reason
      let text = content.unknownReason ?? content.reason.name
      reasonText = text.isEmpty ? nil : text
      timestamp = content.timestamp
    }

    /// The value of the first header of this name.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
  }

  /// Why there is no answer.
  public struct Failure: Error, Sendable {
    /// In words.
    public var message: String
    /// Whether the request may have reached APNs all the same.
    public var isInDoubt: Bool
  }

  /// Sends the request and waits for the answer.
  ///
  /// - Parameters:
  ///   - endpoint: where APNs is, and whom to trust there.
  ///   - identity: the certificate to show; `nil` for none.
  ///   - connectTimeout: ms to look up, connect and finish the TLS handshake.
  ///   - timeout: ms for the whole.
  public static func perform(
    _ request: Request, at endpoint: APNsEndpoint, identity: TLSIdentity? = nil, connectTimeout: Int = 5000,
    timeout: Int = 30_000
  ) async throws(Failure) -> Response {
    let exchange = CurlExchange(
      request, endpoint: endpoint, identity: identity, connectTimeout: connectTimeout, timeout: timeout)
    // libcurl blocks: a thread of its own, not one of Swift's few.
    let result = await withCheckedContinuation { continuation in
      DispatchQueue(label: "carillon.exchange").async { continuation.resume(returning: exchange.perform()) }
    }
    return try result.get()
  }
}
