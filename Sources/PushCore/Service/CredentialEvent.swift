/// What a push service said about a credential.
public enum CredentialEvent: Sendable, Equatable {
  /// A push was accepted on a new connection.
  case accepted
  /// The bearer token of this generation was refused as too old.
  case tokenExpired(generation: Int)
  /// The service saw more bearer tokens than it likes; this was the last.
  case tooManyTokens(generation: Int)
  /// The certificate of this generation was refused in the TLS handshake, or right after it as TLS 1.3 does.
  case certificateRefused(TLSAlert, generation: Int)
  /// The service refused the credential of this generation and said why: with an answer, or as it ended a connection
  /// (GOAWAY). What is said of an earlier one says nothing of the present. Words are for a reason that has no name.
  case refused(ReasonCode, words: String? = nil, generation: Int)
  /// A connection with this certificate was ended before the first push was looked at: what a service may do with a
  /// certificate that is not for it, but also when a server shuts down.
  case turnedAway(generation: Int)
}

/// How a push service ended a connection (GOAWAY, RFC 9113 section 6.8), and on what.
public struct GoAwayFacts: Sendable, Equatable {
  /// Its debug data, as received; empty for none.
  public var text: [UInt8]
  /// Whether it names no error, and no stream that was processed.
  public var isBeforeAnything: Bool
  /// Whether a push was accepted on the connection.
  public var isEstablished: Bool
  /// Whether the connection was opened with a certificate; with a bearer token otherwise.
  public var hasCertificate: Bool
  /// Of the credential.
  public var generation: Int

  /// Memberwise.
  public init(text: [UInt8], isBeforeAnything: Bool, isEstablished: Bool, hasCertificate: Bool, generation: Int) {
    self.text = text
    self.isBeforeAnything = isBeforeAnything
    self.isEstablished = isEstablished
    self.hasCertificate = hasCertificate
    self.generation = generation
  }
}

extension PushService {
  /// What an answer says of the credential: that it is refused, where a disposition of this service stops it for that.
  ///
  /// - Parameter unknownReason: the text of a reason that the service has no code for.
  public func refusal(of answer: PushAnswer, unknownReason: String?, generation: Int) -> CredentialEvent? {
    let disposition = disposition(
      ofRefusal: answer, attempt: 1, policy: RetryPolicy(), jitter: 0, isBreakerOpen: false)
    guard case .stopCredential(let reason) = disposition.effect else { return nil }
    let words = reasonName(of: reason).isEmpty ? words(of: answer, unknownReason: unknownReason) : nil
    return .refused(reason, words: words, generation: generation)
  }

  /// Why a push was refused, for people: the reason, or the status with whatever word came in the reason's place.
  public func words(of answer: PushAnswer, unknownReason: String?) -> String {
    let name = reasonName(of: answer.reason)
    return name.isEmpty ? "status \(answer.status)" + (unknownReason.map { " “\($0)”" } ?? "") : name
  }
}
