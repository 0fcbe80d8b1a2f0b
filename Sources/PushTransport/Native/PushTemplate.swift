internal import HTTP2
internal import PushCore

/// Template for the HTTP/2 requests of all pushes that share a ``PushRequest``. It is made once; for each push, the
/// token and the identifier are written into it.
final class PushTemplate {
  /// Sources of the template. It is reused as long as both stay the same.
  let request: PushRequest
  let generation: Int
  let template: RequestTemplate

  /// Number of bytes of the path before the token.
  private let prefix: Int

  init(_ request: PushRequest, authorization: PushAuthorization, endpoint: PushEndpoint) {
    self.request = request
    generation = authorization.generation
    let prefix = request.path.utf8.count
    self.prefix = prefix
    let authority = Authority(url: endpoint.url, scheme: "https", defaultPort: 443)
    template = RequestTemplate(
      authority: authority?.text ?? "", path: request.path,
      pathCapacity: request.tokenInPath.map { prefix + 2 * $0 },
      fields: request.lines(authorization).map { (name: $0.name, value: $0.value) }, identifier: request.identifier,
      identifierCount: UUIDText.count)
  }

  /// Writes the data of one push into the request.
  func write(_ push: Push, of bytes: UnsafeRawBufferPointer) {
    if request.identifier != nil { UUIDText.write(push.id, to: template.identifier) }
    guard request.tokenInPath != nil else { return }
    let token = UnsafeRawBufferPointer(rebasing: bytes[Int(push.token.lowerBound)..<Int(push.token.upperBound)])
    template.pathCount = prefix + 2 * token.count
    Hex.encode(token, to: UnsafeMutableRawBufferPointer(rebasing: template.path[prefix...]))
  }
}

extension PushRequest {
  /// Returns the fields with the authorization before them.
  func lines(_ authorization: PushAuthorization) -> [Field] {
    guard case .token(let token) = authorization else { return fields }
    return [Field("authorization", "bearer \(token.text)")] + fields
  }
}
