internal import PushCore
internal import TLS

/// Webhook: receiver of events, with a signature that proves their origin.
///
/// The body is signed: `Carillon-Signature` is `v1=` and the HMAC-SHA-256, in hex, of the timestamp, a dot and the
/// body. The receiver must compare this value with its own calculation, and refuse a timestamp that is too old. A
/// redirect counts as a refusal, and so does any status except 2xx. The delivery ignores `https_proxy` and `http_proxy`
/// of the environment, because a proxy could connect to addresses that a webhook must not reach.
public struct Webhook: Sendable, Equatable {
  /// Kind of events. Raw values are names in the configuration.
  public enum Kind: String, CaseIterable, Sendable {
    /// Campaigns that begin, pause, resume or end.
    case campaigns
    /// Alarms that are raised or cleared.
    case alarms
  }

  /// Name in the configuration.
  public var name: String
  public var url: String
  /// Key of the signature.
  public var secret: [UInt8]
  /// Kinds of events that the webhook gets.
  public var kinds: Set<Kind>
  /// Whether the receiver may be on this machine or in a local network.
  public var allowsPrivate: Bool
  /// PEM file of the authorities to trust instead of the system's.
  public var trustRoots: String?

  /// Creates an instance with these values.
  public init(
    name: String, url: String, secret: [UInt8], kinds: Set<Kind> = Set(Kind.allCases), allowsPrivate: Bool = false,
    trustRoots: String? = nil
  ) {
    self.name = name
    self.url = url
    self.secret = secret
    self.kinds = kinds
    self.allowsPrivate = allowsPrivate
    self.trustRoots = trustRoots
  }

  /// Time in ms to connect, and for the whole request. A slower delivery is retried.
  static let connectTimeout = 5000
  static let timeout = 10_000

  /// Returns the value of `Carillon-Signature`.
  ///
  /// - Parameter timestamp: UNIX seconds, as in `Carillon-Timestamp`.
  public func signature(of body: [UInt8], timestamp: Int) -> String {
    "v1=" + String(decoding: Hex.encode(HMAC.sha256(Array("\(timestamp).".utf8) + body, key: secret)), as: UTF8.self)
  }

  /// Delivers one event.
  ///
  /// - Parameters:
  ///   - event: id of the event, which is the same in every retry.
  ///   - body: JSON.
  ///   - timestamp: UNIX seconds.
  /// - Returns: the reason why the receiver did not accept the event; `nil` for success.
  public func deliver(event: String, body: [UInt8], timestamp: Int) async -> String? {
    var request = HTTPExchange.Request(
      method: "POST", path: "",
      headers: [
        .init("content-type", "application/json"), .init("user-agent", "carillon"),
        .init("carillon-event", event), .init("carillon-timestamp", "\(timestamp)"),
        .init("carillon-signature", signature(of: body, timestamp: timestamp)),
      ], body: body)
    // The exchange ends at the headers, because the status is sufficient and a body may never end.
    request.endsAtHeaders = true
    do throws(HTTPExchange.Failure) {
      let answer = try await HTTPExchange.perform(
        request, at: PushEndpoint(verbatim: url, trustRoots: trustRoots), connectTimeout: Self.connectTimeout,
        timeout: Self.timeout, reach: allowsPrivate ? .direct : .publicOnly)
      switch answer.status {
      case 200..<300: return nil
      case 300..<400:
        return "it redirects (status \(answer.status)), and Carillon does not follow redirects: configure the final URL"
      default: return "status \(answer.status)"
      }
    } catch {
      return error.message
    }
  }
}
