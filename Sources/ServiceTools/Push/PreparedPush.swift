public import PushCore
public import PushTransport

/// A push as an HTTP request, and the same request with a shortened token, which is safe to show to people.
public struct PreparedPush: Sendable {
  /// Path of the request.
  public let path: String
  /// Path with a shortened token.
  public let shownPath: String
  /// Headers in the order in which they are sent, without `authorization` and `content-length`.
  public let headers: [HTTPExchange.Header]
  /// Number of ``headers`` before `authorization`.
  private let leading: Int
  /// Body of the request.
  public let body: [UInt8]
  /// Body with a shortened token.
  public let shownBody: [UInt8]

  /// Prepares the push of a campaign to a token, in the same way as the worker.
  ///
  /// - Parameters:
  ///   - values: the values of the target; `nil` if the push has no values.
  ///   - composer: makes the pushes of the campaign.
  ///   - id: a UUID that replaces the id of the push; `nil` keeps the push's id.
  ///   - now: present time in UNIX seconds.
  /// - Returns: `nil` if the payload is larger than the service accepts.
  public init?(
    to token: DeviceToken, values: TargetValues? = nil, by composer: any PushComposer, of service: any PushService,
    id: String? = nil, now: Int
  ) {
    var batch = composer.batch(isUnproven: false, capacity: 1, now: now)
    guard batch.append(token.bytes[...], values, tag: 0, by: composer), let push = batch.pushes.first else {
      return nil
    }
    let request = batch.request
    let identifier = request.identifier.map { PushRequest.Field($0, id ?? UUIDText.text(push.id)) }
    headers = (identifier.map { [$0] } ?? []) + request.fields
    leading = identifier == nil ? 0 : 1
    body = Array(batch.bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)])
    let isInPath = request.tokenInPath != nil
    path = request.path + (isInPath ? String(decoding: Hex.encode(token.bytes), as: UTF8.self) : "")
    shownPath = request.path + (isInPath ? service.shortText(of: token) : "")
    shownBody =
      isInPath
      ? body
      : Array(
        String(decoding: body, as: UTF8.self)
          .replacing(service.text(of: token), with: service.shortText(of: token)).utf8)
  }

  /// Returns the headers with `authorization`.
  ///
  /// - Parameter authorization: the value of the header; `nil` adds no header.
  public func headers(authorization: String?) -> [HTTPExchange.Header] {
    guard let authorization else { return headers }
    return headers[..<leading] + [.init("authorization", authorization)] + headers[leading...]
  }
}
