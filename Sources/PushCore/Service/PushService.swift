/// Push service, with the settings of an app. An implementation contains everything that is specific to one service,
/// and does no I/O.
///
/// The store uses the service to read and write tokens and reasons, and the job parser uses the service's rules for
/// pushes. The worker uses it to compose pushes, and to decide what an answer means for the target and for the
/// connection.
public protocol PushService: Sendable {
  // MARK: Tokens and reasons

  /// Name in configurations, device files and Redis: a ``PlainName``.
  var name: String { get }
  /// Name in texts for people: "APNs".
  var title: String { get }
  /// Description of a valid token, for error messages: "hex of 1 to 200 bytes".
  var tokenForm: String { get }

  /// Returns the token that a text contains, in any of its notations; `nil` if the text is not a token.
  func token(_ text: String) -> DeviceToken?

  /// Writes a token's canonical text. Other programs look up the token by this text, and the text determines the
  /// partition of the token.
  ///
  /// Carillon calls this function for every push of a campaign that stores all results, so it must not allocate memory.
  /// The function must accept any bytes, because the target of a campaign to a channel is not a token.
  ///
  /// - Parameters:
  ///   - token: 1 to ``DeviceToken/maximumLength`` bytes.
  ///   - buffer: room for twice as many bytes as the token has; no text is longer.
  /// - Returns: the number of bytes written.
  func writeText(of token: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int

  /// Returns the service's name of a reason, in UTF-8 without blanks. The name is empty for `none`, `other`,
  /// `payloadTooLarge` and unknown codes.
  ///
  /// Carillon calls this function for every push that was refused, so the text must come from a table.
  func reasonText(of code: ReasonCode) -> [UInt8]

  /// Returns the kind of token to which a campaign sends.
  func tokenKind(for campaign: Campaign) -> TokenKind

  /// Returns the reason why no campaign can reach a device with this kind of token and this environment; `nil` if a
  /// campaign can reach it.
  ///
  /// - Parameter environment: `nil` for the app's environment.
  func problem(ofKind kind: TokenKind, _ environment: PushEnvironment?) -> String?

  // MARK: Jobs

  /// Returns the reason why a text can't be the id of a broadcast channel; `nil` for a possible id.
  func problem(ofChannel id: String) -> String?

  /// Fields of the service's own object in a job. The object has the name of the service (``name``).
  var jobFields: [ServiceField] { get }
  /// Name of the field that contains the payload in the service's own object: `payload`. All other fields are options,
  /// which are the same for all pushes of a campaign.
  var payloadField: String { get }
  /// Returns the places in a payload where Carillon writes values that differ from push to push.
  func payloadPlaces(in payload: JSONValue) -> PayloadPlaces

  /// Returns the options of a job's push, with all defaults filled in.
  ///
  /// - Parameters:
  ///   - own: the service's own object; without fields if the job has none.
  ///   - message: the common message; `nil` for none.
  ///   - urgency: the common urgency; `nil` for none. A field of `own` takes precedence.
  /// - Throws: an error if one of these fields is invalid on its own.
  func options(
    of own: JobFields, _ message: CommonMessage?, _ urgency: Urgency?, to destination: PushDestination
  ) throws(JobError) -> PushOptions

  /// Renders the common message as a payload. Carillon merges the payload of the service's own object over the result
  /// (JSON merge patch, RFC 7396), and then replaces placeholders. Pure.
  ///
  /// - Parameters:
  ///   - message: the message in one variant and language.
  ///   - options: the options of the push.
  ///   - json: makes new objects and values. Values of the message are used unchanged.
  /// - Returns: an object.
  /// - Throws: an error if the service can't carry a field of the message, such as data with a reserved name. The path
  ///   in the error begins with `message.`.
  func payload(
    rendering message: CommonMessage, with options: PushOptions, in json: inout JSONComposer
  ) throws(JobError) -> JSONValue

  /// Returns a job in which absolute times replace the times in its pushes that are relative to the campaign's start;
  /// `nil` if the job has no such time.
  ///
  /// - Parameters:
  ///   - job: the job with the content of its template, if it names one.
  ///   - bytes: the text that contains the job.
  ///   - start: start of the campaign, in UNIX seconds.
  /// - Throws: an error if one of these times is invalid on its own.
  func dated(_ job: JSONValue, _ bytes: [UInt8], start: Int) throws(JobError) -> [UInt8]?

  /// Returns a finding for each rule of the service that the push of a job breaks. Carillon does not send a push that
  /// breaks a rule with the severity error.
  ///
  /// - Parameters:
  ///   - job: a JSON object. The function does not report fields that are invalid on their own.
  ///   - bytes: the text that contains the job.
  ///   - now: UNIX seconds; `nil` skips the rules that depend on the time.
  func findings(in job: JSONValue, _ bytes: [UInt8], now: Int?) -> [Finding]

  /// JSON of the service's own object for a push that has no effect on the device. Carillon sends this push to find
  /// devices from which the user has removed the app.
  var silentPush: [UInt8] { get }

  /// Push types that show nothing and only notify the app of new content.
  var refreshTypes: [String] { get }

  /// Returns the payload of a push of one of ``refreshTypes``; `nil` for any other type.
  func refreshPayload(of pushType: String) -> [UInt8]?

  // MARK: Pushes

  /// Returns the composer of a campaign's pushes.
  ///
  /// - Parameter expiration: UNIX seconds after which the pushes are useless; 0 for one delivery attempt, `nil` for no
  ///   limit.
  func composer(for campaign: Campaign, expiration: Int?) -> any PushComposer

  // MARK: Connections

  /// Rules of the service for connections. Default: ``ConnectionPolicy/init()``.
  var connectionPolicy: ConnectionPolicy { get }

  /// Bounds of the service for retries. Default: no bounds.
  var retryBounds: RetryBounds { get }

  /// Quota for the pushes of all workers together. Several apps may share a quota. Default: `nil`, for no quota.
  var quota: ServiceQuota? { get }

  // MARK: Answers

  /// Parses an answer. Carillon does not call this function for an empty answer with status 200, because such an answer
  /// always means that the service accepted the push.
  ///
  /// - Parameters:
  ///   - status: 200 to 599.
  ///   - body: the received body. It may be empty, truncated or any other bytes.
  ///   - retryAfter: seconds of the `Retry-After` header; 0 without this header.
  func reply(status: UInt16, body: UnsafeRawBufferPointer, retryAfter: UInt16) -> PushReply

  /// Returns the consequences of a refusal for the connection of the push and for the credential.
  ///
  /// - Parameter generation: generation of the credential with which the push was sent.
  func meaning(of answer: PushAnswer, generation: Int) -> AnswerMeaning

  /// Returns the event for the credential that follows from the end of a connection; `nil` for none.
  func event(of goAway: GoAwayFacts) -> CredentialEvent?

  /// Returns whether a server error (5xx) means that the whole service accepts no pushes. The result is `false` if only
  /// one server stops, or if the push may be the cause of the error.
  func isUnavailable(_ answer: PushAnswer) -> Bool

  /// Returns the consequences of an answer that refuses a push.
  ///
  /// - Parameters:
  ///   - answer: an answer of the service that is not an acceptance.
  ///   - attempt: the number of the attempt, from 1. The caller checks whether another attempt is left.
  ///   - policy: the delays between attempts.
  ///   - jitter: a random number from 0 to 1, which spreads retries.
  ///   - isBreakerOpen: whether the circuit breaker is open, because the service answers almost every push with server
  ///     errors. A quick retry would then fail.
  func disposition(
    ofRefusal answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
  ) -> Disposition

  /// Returns the probable cause if the service refuses a large share of a campaign's pushes with the same reason. The
  /// text begins with "probably". When the guard pauses the campaign, the reason of the pause ends with this text.
  ///
  /// - Parameters:
  ///   - reason: the reason of most refusals; ``ReasonCode/none`` if it is not known.
  ///   - app: the app's name.
  func probableCause(ofMany reason: ReasonCode, app: String) -> String

  /// Returns whether the token is the cause of a refusal. The next push to such a token will probably fail too. That
  /// push therefore uses the connection for unproven pushes (``PushBatch/isUnproven``).
  func blamesToken(_ answer: PushAnswer) -> Bool
}

extension PushService {
  public func dated(_ job: JSONValue, _ bytes: [UInt8], start: Int) throws(JobError) -> [UInt8]? { nil }
  public func problem(ofKind kind: TokenKind, _ environment: PushEnvironment?) -> String? { nil }
  public var refreshTypes: [String] { [] }
  public var connectionPolicy: ConnectionPolicy { ConnectionPolicy() }
  public var retryBounds: RetryBounds { RetryBounds() }
  public var quota: ServiceQuota? { nil }
  public func refreshPayload(of pushType: String) -> [UInt8]? { nil }
  public func probableCause(ofMany reason: ReasonCode, app: String) -> String {
    "probably a wrong setting of app \(app), or a wrong message"
  }

  /// Returns a finding for each rule that a refresh push breaks. Such a push shows nothing and only notifies the app of
  /// new content.
  func findings(ofRefresh pushType: String) -> [Finding] {
    guard let payload = refreshPayload(of: pushType) else { return [] }
    var json = JSONWriter()
    json.beginObject()
    writeObject(pushType: pushType, payload: payload, to: &json)
    json.endObject()
    let job = json.take()
    guard let root = try? JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting) else { return [] }
    return findings(in: root, job, now: nil)
  }

  /// Writes the service's own object of a job with a push type and a payload, as a member.
  func writeObject(pushType: String, payload: [UInt8], to json: inout JSONWriter) {
    json.object(name) { json in
      json.member("pushType", pushType)
      json.name(payloadField)
      json.raw(payload)
    }
  }

  /// Returns a token's canonical text.
  public func text(of token: DeviceToken) -> String {
    token.bytes.withUnsafeBytes { token in
      String(unsafeUninitializedCapacity: 2 * token.count) {
        writeText(of: token, to: UnsafeMutableRawBufferPointer($0))
      }
    }
  }

  /// Returns an excerpt of a token's text for logs and terminals. The excerpt distinguishes tokens, but can't be used
  /// to send a push.
  public func shortText(of token: DeviceToken) -> String {
    let text = text(of: token)
    return text.count > 16 ? "\(text.prefix(8))…\(text.suffix(4))" : text
  }

  /// Returns the name of a reason in results, in UTF-8 without blanks.
  ///
  /// A worker of a newer version may have recorded a code that this version does not know. For such a code, the result
  /// is `Reason` followed by the number.
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
