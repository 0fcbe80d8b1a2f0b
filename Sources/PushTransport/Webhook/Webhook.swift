internal import PushCore
internal import TLS

/// Where somebody wants to be told of events, and how that is proved to come from us.
///
/// The body is signed: `Carillon-Signature` is `v1=` and the HMAC-SHA-256, in hex, of the timestamp, a dot and the body.
/// Whoever takes it compares that, and refuses a timestamp that is too old. A redirect is a refusal, and so is any status but
/// 2xx. No proxy of the environment is taken: it would connect to where we may not.
public struct Webhook: Sendable, Equatable {
  /// What it is told of. Raw values are names in the configuration.
  public enum Kind: String, CaseIterable, Sendable {
    /// Campaigns that begin, pause, go on or end.
    case campaigns
    /// Alarms that are raised or cleared.
    case alarms
  }

  /// What the configuration calls it.
  public var name: String
  public var url: String
  /// The key of the signature.
  public var secret: [UInt8]
  /// What it is told of.
  public var kinds: Set<Kind>
  /// Whether it may be on this machine or a local network.
  public var allowsPrivate: Bool
  /// A PEM file of the authorities to trust instead of the system's.
  public var trustRoots: String?

  /// Memberwise.
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

  /// ms to connect, and for the whole: who takes longer is tried again.
  static let connectTimeout = 5000
  static let timeout = 10_000

  /// The value of `Carillon-Signature`.
  ///
  /// - Parameter timestamp: UNIX seconds, as in `Carillon-Timestamp`.
  public func signature(of body: [UInt8], timestamp: Int) -> String {
    "v1=" + String(decoding: Hex.encode(HMAC.sha256(Array("\(timestamp).".utf8) + body, key: secret)), as: UTF8.self)
  }

  /// Tells it of one event.
  ///
  /// - Parameters:
  ///   - event: its id, which is the same whenever it is told again.
  ///   - body: JSON.
  ///   - timestamp: UNIX seconds.
  /// - Returns: why it was not taken; `nil` when it was.
  public func deliver(event: String, body: [UInt8], timestamp: Int) async -> String? {
    var request = HTTPExchange.Request(
      method: "POST", path: "",
      headers: [
        .init("content-type", "application/json"), .init("user-agent", "carillon"),
        .init("carillon-event", event), .init("carillon-timestamp", "\(timestamp)"),
        .init("carillon-signature", signature(of: body, timestamp: timestamp)),
      ], body: body)
    // Its status says everything; a body may have no end.
    request.endsAtHeaders = true
    do throws(HTTPExchange.Failure) {
      let answer = try await HTTPExchange.perform(
        request, at: PushEndpoint(verbatim: url, trustRoots: trustRoots), connectTimeout: Self.connectTimeout,
        timeout: Self.timeout, reach: allowsPrivate ? .direct : .publicOnly)
      switch answer.status {
      case 200..<300: return nil
      case 300..<400:
        return "it redirects (status \(answer.status)), which is not followed: name the address that it means"
      default: return "status \(answer.status)"
      }
    } catch {
      return error.message
    }
  }
}
