public import PushCore
internal import PushTransport
internal import ServiceTools

/// The pushes of a campaign for APNs: options, dates, findings and headers.
extension APNsService {
  public func problem(ofChannel id: String) -> String? { ChannelID.problem(id) }

  public func options(
    of own: JobFields, _ message: CommonMessage?, _ urgency: Urgency?, to destination: PushDestination
  ) throws(JobError) -> PushOptions {
    let type = try Self.pushType(of: own, message)
    return PushOptions(
      pushType: type.rawValue, priority: try Self.priority(of: own, type, urgency),
      expiration: destination.defaultExpiration(of: type))
  }

  /// Returns a job for a Live Activity with its dates in the form of APNs (``ActivityDates``); `nil` if nothing
  /// changes.
  public func dated(_ job: JSONValue, _ bytes: [UInt8], start: Int) throws(JobError) -> [UInt8]? {
    guard case .object(let members) = job.kind,
      (try? Self.pushType(of: JobContent(of: members, for: self).own, nil)) == .liveactivity
    else { return nil }
    return try ActivityDates(job, start: start).applied(to: bytes)
  }

  public var silentPush: [UInt8] { Array(#"{"pushType":"background","payload":{"aps":{"content-available":1}}}"#.utf8) }

  public var refreshTypes: [String] { [PushType.widgets, .controls].map(\.rawValue) }

  /// Returns the payload that refreshes widgets or controls; `nil` for any other push type. Source: Apple, "Updating
  /// widgets with WidgetKit push notifications".
  public func refreshPayload(of pushType: String) -> [UInt8]? {
    refreshTypes.contains(pushType) ? Array(#"{"aps":{"content-changed":true}}"#.utf8) : nil
  }

  public func findings(in job: JSONValue, _ bytes: [UInt8], now: Int?) -> [Finding] {
    APNsInspector.findings(ofJob: job, in: bytes, app: app, now: now)
  }

  public func composer(for campaign: Campaign, expiration: Int?) -> any PushComposer {
    APNsComposer(campaign, headers(of: campaign, expiration: expiration))
  }

  /// Returns the headers of a campaign's pushes.
  ///
  /// - Parameter expiration: `apns-expiration` in UNIX seconds; `nil` sends no such header.
  public func headers(of campaign: Campaign, expiration: Int?) -> PushHeaders {
    let (type, channel) = (campaign.apnsType, campaign.channel)
    // A broadcast's topic is the bundle id itself (Apple, "Sending broadcast push notification requests to APNs").
    let topic = app.map { channel == nil ? $0.topic(for: type) : type.bundle(of: $0.topic) } ?? ""
    return PushHeaders(
      topic: topic, pushType: type, priority: campaign.message.priority, expiration: expiration,
      collapseID: campaign.message.collapseID ?? (type == .alert ? PushID.collapseID(campaign: campaign.whole) : nil),
      channel: channel)
  }
}

/// Composes the pushes of one campaign. All have the same headers and differ in token and `apns-id`. Payloads differ
/// only if the campaign's content is personalised.
final class APNsComposer: PushComposer {
  private let request: PushRequest
  private let payload: [UInt8]
  private let content: PersonalContent?
  private let maximumPayload: Int
  private let ids: PushID

  init(_ campaign: Campaign, _ headers: PushHeaders) {
    request = headers.request
    payload = campaign.message.payload
    content = campaign.message.content
    maximumPayload = headers.pushType.maximumPayload
    ids = PushID(campaign: campaign.whole)
  }

  func batch(isUnproven: Bool, capacity: Int, now: Int) -> PushBatch {
    PushBatch(
      request: request, isUnproven: isUnproven, payload: payload,
      capacity: capacity, bytesPerPush: content == nil ? 0 : payload.count)
  }

  func append(_ token: ArraySlice<UInt8>, _ values: TargetValues?, tag: UInt64, to batch: inout PushBatch) -> Bool {
    let id = token.withUnsafeBytes { ids.id(token: $0) }
    if let content {
      return batch.append(tag: tag, id: id, token: token, content, values ?? .none, most: maximumPayload)
    }
    batch.append(tag: tag, id: id, token: token)
    return true
  }
}
