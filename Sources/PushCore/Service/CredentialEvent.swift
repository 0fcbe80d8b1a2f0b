/// Event that shows whether a push service accepts a credential. A *generation* is the serial number of a bearer token
/// or certificate among those that the worker has used for the credential.
public enum CredentialEvent: Sendable, Equatable {
  /// A push was accepted on a new connection.
  case accepted
  /// The service refused the bearer token of this generation because it is too old.
  case tokenExpired(generation: Int)
  /// The service got more bearer tokens than it allows. The last bearer token was the token of this generation.
  case tooManyTokens(generation: Int)
  /// The service refused the certificate of this generation in the TLS handshake, or immediately after the handshake,
  /// as TLS 1.3 allows.
  case certificateRefused(TLSAlert, generation: Int)
  /// The service refused the credential of this generation and gave a reason, in an answer or in the GOAWAY frame that
  /// ended a connection. A refusal of an earlier generation does not concern the present generation. `words` is the
  /// text of the reason if Carillon does not know it.
  case refused(ReasonCode, words: String? = nil, generation: Int)
  /// The service ended a connection that used the certificate of this generation, before it processed the first push.
  /// The cause may be that the certificate is not valid for the service, or that a server of the service shuts down.
  case turnedAway(generation: Int)
}

/// Facts about the end of a connection by a push service (GOAWAY, RFC 9113 section 6.8).
public struct GoAwayFacts: Sendable, Equatable {
  /// Debug data of the GOAWAY frame, as received; empty for none.
  public var text: [UInt8]
  /// Whether the GOAWAY frame has no error code, and no stream was processed.
  public var isBeforeAnything: Bool
  /// Whether the service accepted a push on the connection.
  public var isEstablished: Bool
  /// Whether the connection uses a certificate, and not a bearer token.
  public var hasCertificate: Bool
  /// Generation of the credential.
  public var generation: Int

  /// Creates an instance with these values.
  public init(text: [UInt8], isBeforeAnything: Bool, isEstablished: Bool, hasCertificate: Bool, generation: Int) {
    self.text = text
    self.isBeforeAnything = isBeforeAnything
    self.isEstablished = isEstablished
    self.hasCertificate = hasCertificate
    self.generation = generation
  }
}

extension PushService {
  /// Returns the event for the credential if this answer stops the credential
  /// (``Disposition/Effect/stopCredential(_:)``); `nil` otherwise.
  ///
  /// - Parameter unknownReason: the text of the reason if it has no code; `nil` otherwise.
  public func refusal(of answer: PushAnswer, unknownReason: String?, generation: Int) -> CredentialEvent? {
    let disposition = disposition(
      ofRefusal: answer, attempt: 1, policy: RetryPolicy(), jitter: 0, isBreakerOpen: false)
    guard case .stopCredential(let reason) = disposition.effect else { return nil }
    let words = reasonName(of: reason).isEmpty ? words(of: answer, unknownReason: unknownReason) : nil
    return .refused(reason, words: words, generation: generation)
  }

  /// Returns the name of a refusal's reason, for texts that people read. For an unknown reason, the result has the HTTP
  /// status and the text of the reason.
  public func words(of answer: PushAnswer, unknownReason: String?) -> String {
    let name = reasonName(of: answer.reason)
    return name.isEmpty ? "status \(answer.status)" + (unknownReason.map { " “\($0)”" } ?? "") : name
  }
}
