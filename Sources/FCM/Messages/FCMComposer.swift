internal import PushCore
internal import PushTransport

/// Composer of the pushes of one campaign. All pushes have the same headers and the same path. A body consists of the
/// beginning of the message, the token, and the rest of the message.
final class FCMComposer: PushComposer {
  private let request: PushRequest
  private let content: PersonalContent
  private let expiration: Int?
  private let ids: PushID
  private let hasID: Bool
  /// Seconds until the pushes of the current batch expire.
  private var lifetime = 0

  private static let tokenOpening = Array(#"{"message":{"token":""#.utf8)
  private static let installationOpening = Array(#"{"message":{"fid":""#.utf8)
  /// Expected length of a token in bytes. Tokens of 2026 have 142 to 163 bytes.
  private static let usualToken = 168

  /// - Parameter expiration: UNIX seconds after which the pushes are useless; 0 for one delivery attempt, `nil` for no
  ///   limit.
  init(_ campaign: Campaign, project: String, _ additions: MessageAdditions, expiration: Int?) {
    request = PushRequest(
      path: Self.path(project: project),
      fields: [
        .init("content-type", "application/json"),
        // This header asks FCM for the details of errors. Source: the Firebase Admin SDKs for Go, Python and Java.
        .init("x-goog-api-format-version", "2"),
      ])
    var content = campaign.message.content ?? PersonalContent(payload: campaign.message.payload)
    content.mapTemplates(additions.rest)
    self.content = content
    self.expiration = expiration
    ids = PushID(campaign: campaign.whole)
    hasID = content.containsID
  }

  var sendsLifetime: Bool { true }

  func batch(isUnproven: Bool, capacity: Int, now: Int) -> PushBatch {
    if let expiration { lifetime = max(0, min(expiration - now, MessageAdditions.maximumLifetime)) }
    return PushBatch(
      request: request, isUnproven: isUnproven, capacity: capacity,
      bytesPerPush: content.largestSize + Self.tokenOpening.count + Self.usualToken)
  }

  func append(_ token: ArraySlice<UInt8>, _ values: TargetValues?, tag: UInt64, to batch: inout PushBatch) -> Bool {
    // The id of the push is computed only for a message with `uniqueKey`, the only message that contains it.
    let id = hasID ? token.withUnsafeBytes { ids.id(token: $0) } : (0, 0)
    return batch.append(
      tag: tag, id: id, opening: TokenForm.isInstallation(token) ? Self.installationOpening : Self.tokenOpening,
      token: token, content, values ?? .none, lifetime: lifetime, most: MessageSize.maximum)
  }

  /// Returns the path of requests to a project.
  static func path(project: String) -> String { "/v1/projects/\(project)/messages:send" }
}
