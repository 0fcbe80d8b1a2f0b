internal import HTTP2
internal import PushCore

/// The requests of pushes that share one: made once, with token and identifier written into it for each push.
final class PushTemplate {
  /// What it was made from; it is used again as long as both stay the same.
  let request: PushRequest
  let generation: Int
  let template: RequestTemplate

  /// Bytes of the path before the token.
  private let prefix: Int

  init(_ request: PushRequest, authorization: PushAuthorization, endpoint: PushEndpoint) {
    self.request = request
    generation = authorization.generation
    prefix = request.path.utf8.count
    let authority = Authority(url: endpoint.url, scheme: "https", defaultPort: 443)
    template = RequestTemplate(
      authority: authority?.text ?? "", path: request.path,
      pathCapacity: prefix + 2 * (request.tokenInPath ?? 0),
      fields: request.lines(authorization).map { (name: $0.name, value: $0.value) }, identifier: request.identifier,
      identifierCount: UUIDText.count)
  }

  /// Makes it the request of one push.
  func write(_ push: Push, of bytes: UnsafeRawBufferPointer) {
    if request.identifier != nil { UUIDText.write(push.id, to: template.identifier) }
    guard request.tokenInPath != nil else { return }
    let token = UnsafeRawBufferPointer(rebasing: bytes[Int(push.token.lowerBound)..<Int(push.token.upperBound)])
    template.pathCount = prefix + 2 * token.count
    Hex.encode(token, to: UnsafeMutableRawBufferPointer(rebasing: template.path[prefix...]))
  }
}

extension PushRequest {
  /// The fields with the authorization before them.
  func lines(_ authorization: PushAuthorization) -> [Field] {
    guard case .token(let token) = authorization else { return fields }
    return [Field("authorization", "bearer \(token.text)")] + fields
  }
}
