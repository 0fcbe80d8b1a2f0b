import CampaignStore
import PushCore

/// When a campaign's targets may be sent.
struct CampaignSchedule {
  /// UNIX seconds after which nothing is sent any more; `nil` for no limit, and where each target has its own.
  let deadline: Int?
  /// When the campaign began, in ms since the epoch.
  let start: Int
  /// Until when its pushes may be delivered, in UNIX seconds; 0 for one attempt.
  private let expiration: Int?
  private let zones: ZoneDatabase
  /// Unknown time zones of devices that the log has named.
  private var unknownZones: Set<String> = []

  init(of campaign: Campaign, _ record: CampaignRecord, _ zones: ZoneDatabase) {
    start = record.start
    expiration = record.expiration
    self.zones = zones
    // 0 asks for one attempt at delivery at any time; it is no instant. A duration counts from each device's own time.
    var expires = record.expiration == 0 ? nil : record.expiration
    if case .after = campaign.message.expiration, campaign.delivery.timing.isPerDevice { expires = nil }
    let ends =
      campaign.delivery.timing.localTime == nil ? campaign.delivery.timing.deadline(start: start / 1000, due: nil) : nil
    deadline = [expires, ends].compactMap(\.self).min()
  }

  /// Returns when the targets of a slice may be sent.
  func times(_ times: SendTimes, of campaign: Campaign) -> SliceTimes {
    SliceTimes(times, of: campaign, start: start, expiration: expiration, zones: zones)
  }

  /// Returns those of some unknown time zones that this function has not had before.
  mutating func noteUnknownZones(_ zones: [String]) -> [String] { zones.filter { unknownZones.insert($0).inserted } }
}
