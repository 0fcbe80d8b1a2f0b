public import PushCore
internal import PushTransport
internal import ServiceTools

/// The pushes of a campaign for FCM: options, findings and composer.
extension FCMService {
  public func problem(ofChannel id: String) -> String? {
    "FCM has no broadcast channels; send to a segment"
  }

  public func composer(for campaign: Campaign, expiration: Int?) -> any PushComposer {
    composer(
      for: campaign, expiration: expiration,
      // With a tag, a duplicate push replaces the notification of the first one.
      tag: campaign.message.collapseID ?? PushID.collapseID(campaign: campaign.whole))
  }

  /// Returns the composer of a campaign's pushes.
  ///
  /// - Parameter tag: the tag for notifications whose message sets none; `nil` for no tag.
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

  /// A message without content. FCM accepts such a message for every valid token.
  public var silentPush: [UInt8] { Array(#"{"pushType":"background","message":{"data":{}}}"#.utf8) }

  public func findings(in job: JSONValue, _ bytes: [UInt8], now: Int?) -> [Finding] {
    FCMInspector.findings(ofJob: job, in: bytes, self, now: now)
  }
}
