internal import HTTP2
internal import PushCore

/// What has ended on a connection since the last look, and what that says about the connection.
struct NativeVerdict {
  /// What becomes of the connection.
  enum Conclusion {
    /// It takes no more pushes.
    case replace(ConnectionEvent)
    /// It goes on; somebody may want to know what went wrong.
    case trouble(String)
  }

  private var blame = ConnectionBlame()
  /// What went wrong since the last look.
  private var trouble: String?
  /// A push timed out, and nothing else was answered since it was sent: nobody would tell if the connection were dead.
  private var isSilent = false
  /// A push was lost.
  private var isHarmed = false
  /// When the last loss was seen: those that were under way by then tell nothing new.
  private var lostAt: UInt64 = 0

  /// Notes what an answer holds against the connection.
  mutating func note(_ blame: AnswerMeaning.Blame) {
    self.blame.note(blame)
  }

  /// Notes a push that got no answer.
  mutating func noteLoss(_ ended: RequestSession.Ended, on connection: NativeConnection, _ now: UInt64) {
    isHarmed = true
    if connection.failure == nil {
      if ended.error == .cancel, connection.answeredAt <= ended.startedAt { isSilent = true }
      trouble =
        switch ended.error {
        case .refusedStream: "APNs refused a stream"
        case .cancel: "no answer in time"
        default: "APNs reset a stream (error \(ended.error.rawValue))"
        }
    }
    if ended.startedAt > lostAt {
      blame.note(.counts)
      lostAt = now
    }
  }

  /// Draws the conclusion, and begins to look anew.
  ///
  /// - Returns: `nil` where there is nothing to be said.
  mutating func conclude(_ connection: NativeConnection) -> Conclusion? {
    defer { (trouble, isSilent, isHarmed) = (nil, false, false) }
    let isEstablished = connection.isEstablished
    if connection.isGoingAway { return .replace(isEstablished ? .closed : .failed(connection.farewell)) }
    if let failure = connection.failure {
      // Closed without a word while nothing was under way, it did no harm.
      return .replace(isEstablished && !isHarmed ? .closed : .failed(failure.description))
    }
    if connection.isExhausted { return .replace(.closed) }
    if isSilent { return .replace(.failed(trouble ?? "no answer in time")) }
    if blame.isSpent { return .replace(.closed) }
    if blame.isFaulty { return .replace(isEstablished ? .closed : .failed(trouble ?? "APNs accepts nothing")) }
    return trouble.map(Conclusion.trouble)
  }
}

/// What the end of a connection says about its credential.
extension NativeConnection {
  /// What a GOAWAY says.
  func credentialEvent(of goAway: RequestSession.GoAway) -> CredentialEvent? {
    let generation = authorization.generation
    let isCertificate = authorization.identity != nil
    switch goAway.reason {
    case .badCertificate, .badCertificateEnvironment:
      return isCertificate ? .refused(goAway.reason, generation: generation) : nil
    case .expiredProviderToken: return .tokenExpired(generation: generation)
    case .tooManyProviderTokenUpdates: return .tooManyTokens(generation: generation)
    case .none, .other:
      // As APNs does with certificates of the other environment, and a server that shuts down.
      let isTurnedAway = isCertificate && !isEstablished && goAway.lastStreamID == 0 && goAway.error == .noError
      return isTurnedAway ? .turnedAway(generation: generation) : nil
    default: return nil
    }
  }

  /// That its certificate was refused by a TLS alert, if it was.
  var refusal: CredentialEvent? {
    guard let alert = failure?.alert, authorization.identity != nil else { return nil }
    return .certificateRefused(alert, generation: authorization.generation)
  }
}
