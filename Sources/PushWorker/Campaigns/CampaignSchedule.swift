import CampaignStore
import PushCore

/// The times between which a campaign's targets may be sent.
struct CampaignSchedule {
  /// Time after which the worker sends no target, in UNIX seconds. `nil` without a limit, or if each target has its own
  /// deadline.
  let deadline: Int?
  /// Start of the campaign, in ms since the epoch.
  let start: Int
  /// Time until which the push service may deliver the pushes, in UNIX seconds; 0 for one delivery attempt.
  private let expiration: Int?
  private let zones: ZoneDatabase
  /// Time zones of devices that this machine does not know and that were already logged.
  private var unknownZones: Set<String> = []

  init(of campaign: Campaign, _ record: CampaignRecord, _ zones: ZoneDatabase) {
    start = record.start
    expiration = record.delivery.expiration
    self.zones = zones
    // An expiration of 0 is not a time: it requests one delivery attempt. If devices have their own send times, a
    // duration counts from the send time of each device.
    var expires = record.delivery.expiration == 0 ? nil : record.delivery.expiration
    if case .after = campaign.message.expiration, campaign.delivery.timing.isPerDevice { expires = nil }
    let ends =
      campaign.delivery.timing.localTime == nil ? campaign.delivery.timing.deadline(start: start / 1000, due: nil) : nil
    deadline = [expires, ends].compactMap(\.self).min()
  }

  /// Returns the send times of a slice's targets.
  func times(_ times: SendTimes, of campaign: Campaign) -> SliceTimes {
    SliceTimes(times, of: campaign, start: start, expiration: expiration, zones: zones)
  }

  /// Returns the time zones in `zones` that this machine does not know, without those that an earlier call has
  /// returned.
  mutating func newUnknownZones(_ zones: [String]) -> [String] { zones.filter { unknownZones.insert($0).inserted } }
}
