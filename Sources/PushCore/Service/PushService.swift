/// A push service, as configured for an app: what is the service's own, and nobody else knows. Pure: it does no I/O.
///
/// The store asks it what a token and a reason are, the job what its push may be, the worker for the pushes of a campaign
/// and what follows from an answer, a connection what an answer says of it.
public protocol PushService: Sendable {
  // MARK: Tokens and reasons

  /// Its name in configurations, device files and Redis: a ``PlainName``.
  var name: String { get }
  /// What people call it, in messages: "APNs".
  var title: String { get }
  /// What the text of a token is, for messages: "hex of 1 to 200 bytes".
  var tokenForm: String { get }

  /// The token that a text stands for, in any of the forms in which it is written; `nil` when it stands for none.
  func token(_ text: String) -> DeviceToken?

  /// Writes a token's canonical text: the one form under which other programs find it, and by which it has its partition.
  ///
  /// Called for every push of a campaign that keeps all results, so it allocates nothing. It writes something of any
  /// bytes: the only target of a campaign to a channel is no token.
  ///
  /// - Parameters:
  ///   - token: 1 to ``DeviceToken/maximumLength`` bytes.
  ///   - buffer: room for twice as many bytes as the token has; no text is longer.
  /// - Returns: how many bytes were written.
  func writeText(of token: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int

  /// The service's word for a reason, in UTF-8 without blanks; nothing for `none`, for `other`, for `payloadTooLarge`, and
  /// for a code that it doesn't know.
  ///
  /// Called for every push that was refused: the answer is to come out of a table.
  func reasonText(of code: ReasonCode) -> [UInt8]

  /// The kind of token that a campaign goes to.
  func tokenKind(for campaign: Campaign) -> TokenKind

  // MARK: Jobs

  /// Why a text can't be the id of a broadcast channel; `nil` when it can.
  func problem(ofChannel id: String) -> String?

  /// How the push of a job is to be sent, every default filled in.
  ///
  /// - Throws: what is wrong with one of these fields by itself.
  func options(of job: JobFields, to destination: PushDestination) throws(JobError) -> PushOptions

  /// A job with the times of its push written out that count from when its campaign begins; `nil` where it has none such.
  ///
  /// - Parameters:
  ///   - job: with the content of its template, if it names one.
  ///   - pushType: what it says.
  ///   - start: when it begins, in UNIX seconds.
  /// - Throws: what is wrong with one of these times by itself.
  func dated(_ job: [UInt8], pushType: String, start: Int) throws(JobError) -> [UInt8]?

  /// The service's rules that the push of a job breaks. What breaks an error is not sent.
  ///
  /// - Parameters:
  ///   - job: a JSON object; what is wrong with its fields by themselves is not this function's to say.
  ///   - bytes: the text that it stands in.
  ///   - now: UNIX seconds; `nil` leaves out what depends on the time.
  func findings(in job: JSONValue, _ bytes: [UInt8], now: Int?) -> [Finding]

  /// The types of push that show nothing by themselves, and tell an app that there is something new.
  var refreshTypes: [String] { get }

  /// What such a push says; `nil` for any other type.
  func refreshPayload(of pushType: String) -> [UInt8]?

  // MARK: Pushes

  /// What makes the pushes of a campaign.
  ///
  /// - Parameter expiration: UNIX seconds after which they are of no use; 0 for one attempt at delivery, `nil` for no limit.
  func composer(for campaign: Campaign, expiration: Int?) -> any PushComposer

  // MARK: Answers

  /// Reads an answer. An empty one with status 200 needs no reading: it is an acceptance everywhere.
  ///
  /// - Parameters:
  ///   - status: 200 to 599.
  ///   - body: as received; may be empty, cut off, or anything at all.
  ///   - retryAfter: seconds of a `Retry-After` header; 0 without one.
  func reply(status: UInt16, body: UnsafeRawBufferPointer, retryAfter: UInt16) -> PushReply

  /// What a refusal says of its connection and of the credential.
  ///
  /// - Parameter generation: of the credential that the push went with.
  func meaning(of answer: PushAnswer, generation: Int) -> AnswerMeaning

  /// What the end of a connection says of the credential; `nil` for nothing.
  func event(of goAway: GoAwayFacts) -> CredentialEvent?

  /// Whether an answer with status 503 says that the service as a whole takes no more pushes, and not just one server.
  func isUnavailable(_ answer: PushAnswer) -> Bool

  /// What follows from an answer that refuses a push.
  ///
  /// - Parameters:
  ///   - answer: with a status of its own; not an acceptance.
  ///   - attempt: its number, from 1. Whether another is left is not this function's to say.
  ///   - policy: delays.
  ///   - jitter: random, 0 to 1; spreads retries.
  ///   - isBreakerOpen: whether the service answers nearly everything with 503: then nothing is gained by a quick retry.
  func disposition(
    ofRefusal answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
  ) -> Disposition

  /// Whether a refusal is the token's own fault, so that the next push to it will hardly fare better, and goes over the
  /// connection for unproven pushes.
  func blamesToken(_ answer: PushAnswer) -> Bool
}

extension PushService {
  public func dated(_ job: [UInt8], pushType: String, start: Int) throws(JobError) -> [UInt8]? { nil }
  public var refreshTypes: [String] { [] }
  public func refreshPayload(of pushType: String) -> [UInt8]? { nil }

  /// The rules that a push breaks which only tells the app that there is something new.
  func findings(ofRefresh pushType: String) -> [Finding] {
    guard let payload = refreshPayload(of: pushType) else { return [] }
    var json = JSONWriter()
    json.beginObject()
    json.member("pushType", pushType)
    json.name("payload")
    json.raw(payload)
    json.endObject()
    let job = json.take()
    guard let root = try? JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting) else { return [] }
    return findings(in: root, job, now: nil)
  }

  /// A token's canonical text.
  public func text(of token: DeviceToken) -> String {
    token.bytes.withUnsafeBytes { token in
      String(unsafeUninitializedCapacity: 2 * token.count) {
        writeText(of: token, to: UnsafeMutableRawBufferPointer($0))
      }
    }
  }

  /// As much of a token's text as tells tokens apart and is of no use to anybody else: for logs and terminals.
  public func shortText(of token: DeviceToken) -> String {
    let text = text(of: token)
    return text.count > 16 ? "\(text.prefix(8))…\(text.suffix(4))" : text
  }

  /// Returns the name of a reason in results, in UTF-8 without blanks.
  ///
  /// A worker of a newer version may have recorded a code that this version does not know. Its name is `Reason` and the
  /// number.
  public func resultText(of code: ReasonCode) -> [UInt8] {
    switch code {
    case .none, .other: return []
    case .payloadTooLarge: return Array("PayloadTooLargeForTarget".utf8)
    default:
      let text = reasonText(of: code)
      return text.isEmpty ? Array("Reason\(code.rawValue)".utf8) : text
    }
  }

  /// Returns the name of a reason; empty for ``ReasonCode/none`` and ``ReasonCode/other``.
  public func reasonName(of code: ReasonCode) -> String { String(decoding: resultText(of: code), as: UTF8.self) }
}
