private import Foundation
internal import TLS

/// Checks channel requests (``ChannelRequest``), with the rules of APNs. The channel API of APNs has rejection reasons
/// of its own (``Reason``). Apple documents no order of the checks, so this type uses the order of
/// ``RequestValidator``.
struct ChannelValidator {
  /// The answer to a channel request.
  struct Answer: Equatable {
    var status: Int
    var reason: Reason?
    var channelID: String?
    var body: [UInt8]?
    /// Whether the request was a broadcast that was accepted.
    var isBroadcast = false

    static func success(_ status: Int, channelID: String? = nil, body: [UInt8]? = nil, isBroadcast: Bool = false)
      -> Answer
    { Answer(status: status, channelID: channelID, body: body, isBroadcast: isBroadcast) }
  }

  /// Maximum size of a broadcast's body in bytes.
  static let longestBody = 5120
  /// Maximum length of a Base64 identifier in bytes. Apple publishes no number, only that an identifier can be too
  /// long.
  private static let longestChannelID = 255
  /// The only push type of broadcasts. Case is ignored, because Apple's pages use different spellings.
  private static let pushType = "liveactivity"

  private struct Creation: Decodable {
    var storage: Int
    var pushType: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
      case storage = "message-storage-policy"
      case pushType = "push-type"
    }
  }

  private let verifier: ProviderTokenVerifier
  private let channels: ChannelStore

  init(_ shared: SharedState) {
    verifier = shared.verifier
    channels = shared.channels
  }

  /// Returns the answer to a channel request.
  ///
  /// - Parameters:
  ///   - verdict: result of the connection's authentication.
  ///   - certificate: the client's certificate.
  ///   - body: the whole body, or a part that already exceeds the limit.
  ///   - now: seconds since 1970 on the simulator's clock.
  func validate(
    _ request: ChannelRequest, from verdict: ConnectionAuthentication.Verdict, certificate: PushCertificate?,
    body: [UInt8], by rules: Rules, now: Int64
  ) -> Answer {
    guard let operation = request.operation else { return reject(.methodNotAllowed) }
    if request.hasDuplicates { return reject(.duplicateHeaders) }
    let sender: ConnectionAuthentication.Sender
    switch verdict {
    case .refused(let reason): return reject(reason)
    case .genuine(let genuine): sender = genuine
    }
    if let id = request.requestID, UUID(uuidString: id) == nil { return reject(.badMessageID) }
    // The path contains the bundle identifier without the suffix of any push type.
    if PushType.bundle(of: request.app) != request.app { return reject(.topicDisallowed) }
    guard covers(request.app, sender, certificate) else { return reject(.topicMismatch) }
    guard rules.knobs.enablesBroadcast else { return reject(.featureNotEnabled) }
    switch operation {
    case .create: return create(request, body)
    case .list: return .success(200, body: JSON.write(object: ["channels": channels.list(of: request.app)]))
    case .read:
      return channel(of: request) { _, storage in
        .success(
          200, body: JSON.write(object: ["message-storage-policy": storage.rawValue, "push-type": "LiveActivity"]))
      }
    case .delete:
      return channel(of: request) { identifier, _ in
        channels.delete(identifier, of: request.app) ? .success(204) : reject(.channelNotRegistered)
      }
    case .broadcast: return broadcast(request, body, now: now)
    }
  }

  private func broadcast(_ request: ChannelRequest, _ body: [UInt8], now: Int64) -> Answer {
    channel(of: request) { _, storage in
      guard let type = request.pushType else { return reject(.missingPushType) }
      guard type.lowercased() == Self.pushType else { return reject(.invalidPushType) }
      guard let expiration = request.expiration.flatMap({ Int64($0) }), expiration >= 0,
        expiration == 0 || storage == .mostRecent
      else { return reject(.badExpirationDate) }
      guard let priority = request.priority, ["1", "5", "10"].contains(priority) else { return reject(.badPriority) }
      if body.isEmpty { return reject(.payloadEmpty) }
      if body.count > Self.longestBody { return reject(.payloadTooLarge) }
      return .success(200, isBroadcast: true)
    }
  }

  private func create(_ request: ChannelRequest, _ body: [UInt8]) -> Answer {
    if body.isEmpty { return reject(.payloadEmpty) }
    if body.count > Self.longestBody { return reject(.payloadTooLarge) }
    guard let object = JSON.read(body) as? [String: Any] else {
      return reject(.badRequestPayload)
    }
    let known = Creation.CodingKeys.allCases.map(\.rawValue)
    guard object.keys.allSatisfy(known.contains),
      let wanted = try? JSON.read(Creation.self, from: body),
      let storage = ChannelStore.Storage(rawValue: wanted.storage)
    else { return reject(.badRequestParams) }
    guard let type = wanted.pushType else { return reject(.missingPushType) }
    guard type.lowercased() == Self.pushType else { return reject(.invalidPushType) }
    guard let identifier = channels.create(for: request.app, storage) else {
      return reject(.cannotCreateChannelConfig)
    }
    return .success(201, channelID: identifier)
  }

  private func channel(of request: ChannelRequest, _ body: (String, ChannelStore.Storage) -> Answer) -> Answer {
    guard let identifier = request.channelID else { return reject(.missingChannelID) }
    guard !identifier.isEmpty, identifier.utf8.count <= Self.longestChannelID, Base64.decode(identifier.utf8) != nil
    else {
      return reject(.badChannelID)
    }
    guard let storage = channels.find(identifier, of: request.app) else { return reject(.channelNotRegistered) }
    return body(identifier, storage)
  }

  private func covers(
    _ app: [UInt8], _ sender: ConnectionAuthentication.Sender, _ certificate: PushCertificate?
  ) -> Bool {
    switch sender {
    case .certificate: certificate?.allows(app) ?? false
    case .key(let number): verifier.keys[number].topics?.contains { PushType.bundle(of: $0) == app } ?? true
    }
  }

  private func reject(_ reason: Reason) -> Answer {
    Answer(status: Int(reason.status.description) ?? 500, reason: reason)
  }
}
