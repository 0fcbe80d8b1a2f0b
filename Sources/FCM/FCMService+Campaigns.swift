public import PushCore
internal import PushTransport

extension FCMService {
  public func problem(ofChannel id: String) -> String? {
    "FCM has no broadcast channels; send to a segment"
  }

  public func options(of job: JobFields, to destination: PushDestination) throws(JobError) -> PushOptions {
    let type = try job.choice("pushType", default: FCMPushType.alert)
    return PushOptions(pushType: type.rawValue, priority: try Self.priority(of: job, type))
  }

  static func priority(of job: JobFields, _ type: FCMPushType) throws(JobError) -> Int {
    guard let value = job.value("priority") else { return type.defaultPriority }
    guard case .number(let text) = value.kind, let priority = Int(text), [10, 5].contains(priority) else {
      throw job.error("priority", "must be the number 10 (HIGH) or 5 (NORMAL)")
    }
    return priority
  }

  /// Returns the place of the keys: the data that Android devices get.
  public func keyPlace(in payload: JSONValue) -> [String] {
    guard case .object(let message) = payload.kind,
      let name = ["android", "android_v2", "androidV2"].first(where: { message.object($0)?.object("data") != nil })
    else { return ["data"] }
    return [name, "data"]
  }

  public func composer(for campaign: Campaign, expiration: Int?) -> any PushComposer {
    composer(
      for: campaign, expiration: expiration,
      // A duplicate replaces the notification that it repeats.
      tag: campaign.message.collapseID ?? PushID.collapseID(campaign: campaign.whole))
  }

  /// Returns the composer of a campaign's pushes.
  ///
  /// - Parameter tag: the tag of notifications without one; `nil` for none.
  func composer(for campaign: Campaign, expiration: Int?, tag: String?) -> any PushComposer {
    FCMComposer(
      campaign, project: project ?? "",
      MessageAdditions(
        priority: campaign.message.priority == 10 ? "HIGH" : "NORMAL",
        expiration: expiration.map { $0 == 0 ? .immediate : .lifetime } ?? .standard,
        collapseKey: campaign.message.collapseID, tag: tag,
        analyticsLabel: MessageAdditions.label(campaign: campaign.whole)),
      expiration: expiration)
  }

  public func findings(in job: JSONValue, _ bytes: [UInt8], now: Int?) -> [Finding] {
    FCMInspector.findings(ofJob: job, in: bytes, self, now: now)
  }
}
