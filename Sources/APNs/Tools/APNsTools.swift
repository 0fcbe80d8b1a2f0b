public import PushCore
public import PushTransport
public import ServiceTools

/// The functions of the command line that are specific to APNs.
public struct APNsTools: PushServiceTools {
  /// The tools have no settings.
  public init() {}

  public var service: any PushService { APNsService() }
  public var ports: String { "443 or 2197" }

  // MARK: Lint

  public var pushTypes: [String] { PushType.allCases.map(\.rawValue) }
  public var defaultPushType: String { PushType.alert.rawValue }
  public var rules: [PushRule] { APNsRule.allCases.map { PushRule($0) } }

  public func isJob(_ root: JSONValue) -> Bool { APNsLint.isJob(root) }
  public func isPayload(_ root: JSONValue) -> Bool { APNsLint.isPayload(root) }

  public func lint(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: String?, app: String?, apps: JobApps, now: Int?
  ) throws(JSONSyntaxError) -> PushLint {
    try APNsLint(
      bytes, resolved: resolved, as: pushType.flatMap(PushType.init(rawValue:)), app: app, apps: apps, now: now
    ).result
  }

  // MARK: A push by hand

  /// Returns a composer without the collapse id that alerts of a campaign have by default.
  public func composer(
    byHand campaign: Campaign, of service: any PushService, expiration: Int?
  ) -> any PushComposer {
    guard let service = service as? APNsService else { return service.composer(for: campaign, expiration: expiration) }
    var headers = service.headers(of: campaign, expiration: expiration)
    headers.collapseID = campaign.message.collapseID
    return APNsComposer(campaign, headers)
  }

  public func answer(_ response: HTTPExchange.Response) -> ServiceAnswer {
    let guide = ReasonGuide(status: response.status, reason: response.reason)
    return ServiceAnswer(
      isAccepted: response.status == 200, reason: response.reason.code, reasonText: response.reasonText,
      timestamp: response.timestamp, meaning: guide.meaning, hint: guide.hint)
  }

  // MARK: Results

  public func resultID(ofCampaign campaign: String) -> ResultID? {
    let ids = PushID(campaign: campaign)
    return ResultID(name: "apnsId") { UUIDText.text(ids.id(token: $0.bytes)) }
  }
}
