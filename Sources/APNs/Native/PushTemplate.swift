internal import HTTP2

/// The requests of pushes that share headers: made once, with token and `apns-id` written into it for each push.
final class PushTemplate {
  /// What it was made from; it is used again as long as both stay the same.
  let headers: PushHeaders
  let generation: Int
  let template: RequestTemplate

  private static let devices = "/3/device/"
  /// Tokens have 200 bytes at most (``Push/token``).
  private static let longestToken = 400
  private let isBroadcast: Bool

  init(_ headers: PushHeaders, authorization: PushAuthorization, endpoint: APNsEndpoint) {
    self.headers = headers
    generation = authorization.generation
    isBroadcast = headers.channel != nil
    // Apple, "Sending broadcast push notification requests to APNs".
    let path = isBroadcast ? "/4/broadcasts/apps/\(PushHeaders.plain(headers.topic))" : Self.devices
    let authority = APNsAuthority(url: endpoint.url, scheme: "https", defaultPort: 443)
    template = RequestTemplate(
      authority: authority?.text ?? "", path: path, pathCapacity: Self.devices.utf8.count + Self.longestToken,
      fields: headers.fields(authorization), identifier: "apns-id", identifierCount: PushID.textLength)
  }

  /// Makes it the request of one push.
  func write(_ push: Push, of bytes: UnsafeRawBufferPointer) {
    PushID.write(push.apnsID, to: template.identifier)
    guard !isBroadcast else { return }
    let token = UnsafeRawBufferPointer(rebasing: bytes[Int(push.token.lowerBound)..<Int(push.token.upperBound)])
    let start = Self.devices.utf8.count
    template.pathCount = start + 2 * token.count
    PushID.writeHex(token, to: UnsafeMutableRawBufferPointer(rebasing: template.path[start...]))
  }
}
