public import PushCore

/// A push service for tests that is completely different from APNs: a JSON POST to one path, text tokens, reasons of
/// its own, and a body for each push.
///
/// A push is `POST /v1/send` with `{"to":"t:…","id":"UUID","message":{…}}`. The answer is 200 with `{"ok":true}`, or
/// `{"error":"REASON"}` with an uninformative status: most refusals also have 200.
public struct TextService: PushService {
  /// The service's reasons. The raw value is the code.
  public enum Word: UInt8, CaseIterable, Sendable {
    /// The token is permanently invalid.
    case gone = 7
    /// The text is not a token.
    case nonsense = 8
    /// The service does not accept the message.
    case unfit = 9
    /// The service does not accept the bearer token.
    case stranger = 10
    /// The service asks for a later attempt.
    case busy = 11
    /// The quota is used up.
    case spent = 12

    /// The text in answers.
    public var text: String { "\(self)".uppercased() }
    /// The stored code.
    public var code: ReasonCode { ReasonCode(rawValue: rawValue) }
  }

  /// Limit of a message in bytes.
  public static let longestMessage = 256

  /// The path of pushes.
  public static let path = "/v1/send"

  /// Bounds for retries.
  public var retryBounds: RetryBounds

  /// Quota of the service. Apps with an equal quota share it.
  public var quota: ServiceQuota?

  /// - Parameters:
  ///   - retryBounds: bounds for retries; none by default, as for a service that sets none.
  ///   - quota: quota; none by default.
  public init(retryBounds: RetryBounds = RetryBounds(), quota: ServiceQuota? = nil) {
    self.retryBounds = retryBounds
    self.quota = quota
  }

  public var name: String { "text" }
  public var title: String { "the text service" }
  public var tokenForm: String { "a text that begins with t:" }

  public func token(_ text: String) -> DeviceToken? { text.hasPrefix("t:") ? DeviceToken(bytes: text.utf8) : nil }

  public func writeText(of token: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    buffer.copyMemory(from: token)
    return token.count
  }

  public func reasonText(of code: ReasonCode) -> [UInt8] { Array((Word(rawValue: code.rawValue)?.text ?? "").utf8) }

  public func tokenKind(for campaign: Campaign) -> TokenKind { .alert }

  // MARK: Jobs

  public func problem(ofChannel id: String) -> String? { "there are no channels" }

  public var jobFields: [ServiceField] {
    [
      ServiceField("payload", schema: #"{"type":"object"}"#),
      ServiceField("pushType", schema: #"{"const":"message"}"#),
    ]
  }

  public var payloadField: String { "payload" }
  public func payloadPlaces(in payload: JSONValue) -> PayloadPlaces { PayloadPlaces(badge: nil) }
  public var silentPush: [UInt8] { Array(#"{"payload":{"text":""}}"#.utf8) }

  public func options(
    of own: JobFields, _ message: CommonMessage?, _ urgency: Urgency?, to destination: PushDestination
  ) throws(JobError) -> PushOptions {
    guard let type = try own.string("pushType") else { return PushOptions(pushType: "message", priority: 1) }
    guard type == "message" else { throw own.error("pushType", "must be message") }
    return PushOptions(pushType: type, priority: 1)
  }

  /// Renders the body as the text, or the title of a message without a body. The members of `data` are added beside
  /// the text; all other fields of the message are ignored.
  public func payload(
    rendering message: CommonMessage, with options: PushOptions, in json: inout JSONComposer
  ) throws(JobError) -> JSONValue {
    var members = message.data
    if let text = message.body ?? message.title { members.append(json.member("text", text)) }
    return json.object(members)
  }

  /// The only rule: a message must have a text.
  static let textMissing = PushRule(
    id: "text-missing", severity: .error, summary: "A message has a text.", source: "the tests")

  /// Checks the only rule: a message must have a text.
  public func findings(in job: JSONValue, _ bytes: [UInt8], now: Int?) -> [Finding] {
    guard case .object(let members) = job.kind,
      let form = try? PayloadForm.all(of: members, in: bytes, for: self).first
    else { return [] }
    return Self.findings(in: form.value, at: "text.payload.")
  }

  static func findings(in payload: JSONValue, at path: String) -> [Finding] {
    guard case .object(let members) = payload.kind, members.value("text") == nil else { return [] }
    return [Finding(textMissing, path + "text", "is missing")]
  }

  // MARK: Pushes

  public func composer(for campaign: Campaign, expiration: Int?) -> any PushComposer { Composer(campaign) }

  private final class Composer: PushComposer {
    private let request = PushRequest(
      path: TextService.path, fields: [.init("content-type", "application/json")])
    private let campaign: Campaign

    init(_ campaign: Campaign) { self.campaign = campaign }

    func batch(isUnproven: Bool, capacity: Int, now: Int) -> PushBatch {
      PushBatch(request: request, isUnproven: isUnproven, capacity: capacity)
    }

    func append(_ token: ArraySlice<UInt8>, _ values: TargetValues?, tag: UInt64, to batch: inout PushBatch) -> Bool {
      var message = campaign.message.payload
      if let content = campaign.message.content {
        message = []
        guard content.write(values ?? .none, id: (0, 0), most: TextService.longestMessage, to: &message) else {
          return false
        }
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("to", String(decoding: token, as: UTF8.self))
      json.member("campaign", campaign.id)
      json.name("message")
      json.raw(message)
      json.endObject()
      batch.append(tag: tag, id: (0, 0), token: token, payload: json.bytes)
      return true
    }
  }

  // MARK: Answers

  public func reply(status: UInt16, body: UnsafeRawBufferPointer, retryAfter: UInt16) -> PushReply {
    var reason = ReasonCode.none
    var unknown: String?
    var limit: UInt32 = 0
    if let root = try? JSONValue(parsing: Array(body), maximumDepth: 4), case .object(let members) = root.kind {
      if case .string(let text)? = members.value("error")?.kind {
        reason = Word.allCases.first { $0.text == text }?.code ?? .other
        unknown = reason == .other ? text : nil
      }
      if case .number(let number)? = members.value("limit")?.kind { limit = UInt32(number) ?? 0 }
    } else if status == 200 {
      // A body that is not a JSON object accepts nothing, even with status 200.
      reason = .other
    }
    return PushReply(
      PushAnswer(kind: .answered, status: status, reason: reason, retryAfter: retryAfter, quotaPerMinute: limit),
      unknownReason: unknown)
  }

  public func meaning(of answer: PushAnswer, generation: Int) -> AnswerMeaning { AnswerMeaning() }

  public func event(of goAway: GoAwayFacts) -> CredentialEvent? { nil }

  public func isUnavailable(_ answer: PushAnswer) -> Bool { answer.status == 503 }

  public func disposition(
    ofRefusal answer: PushAnswer, attempt: Int, policy: RetryPolicy, jitter: Double, isBreakerOpen: Bool
  ) -> Disposition {
    switch Word(rawValue: answer.reason.rawValue) {
    case .gone: return Disposition(.finish(.unregistered), token: .prune)
    case .nonsense: return Disposition(.finish(.badToken), token: .quarantine)
    case .unfit: return .refusedForAll(policy, answer.reason, jitter)
    case .stranger: return .held(policy, answer.reason, jitter)
    case .busy:
      return .later(policy.afterTooManyRequests(attempt: attempt, asked: answer.asked, chance: jitter))
    case .spent:
      let delay = policy.afterTooManyRequests(attempt: 1, asked: answer.asked, chance: jitter)
      return Disposition(.retry(afterMilliseconds: delay), effect: answer.exceededQuota, countsAttempt: false)
    case nil:
      guard answer.status >= 500 else { return Disposition(.finish(.rejected)) }
      return .retryAfterServerError(policy, answer, attempt: attempt, jitter, isBreakerOpen: isBreakerOpen)
    }
  }

  public func blamesToken(_ answer: PushAnswer) -> Bool { answer.reason == Word.nonsense.code }
}
