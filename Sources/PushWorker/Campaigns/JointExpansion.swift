import CampaignStore
import PushCore

/// The legs of a campaign that are expanded together. One filter decides about each user once, for all legs.
struct JointExpansion {
  let filter: DeviceFilter
  /// Ids of the parts of the campaign, one for each leg, in the order of the filter's legs. Empty if the campaign has
  /// one leg.
  let parts: [String]

  /// The expansion of a campaign with one leg.
  init(_ filter: DeviceFilter) {
    self.init(filter: filter, parts: [])
  }

  private init(filter: DeviceFilter, parts: [String]) {
    self.filter = filter
    self.parts = parts
  }

  /// Creates the joint expansion of a campaign's legs.
  ///
  /// - Parameters:
  ///   - filter: the filter of the campaign itself.
  ///   - legs: the campaigns of all legs, in their order; empty for one leg.
  ///   - app: the app of the campaign.
  ///   - start: the start of the campaign, in ms since the epoch.
  init(_ filter: DeviceFilter, _ legs: [Campaign], _ app: AppChannel, start: Int) throws(JobError) {
    guard legs.count > 1 else {
      self.init(filter)
      return
    }
    var filters: [DeviceFilter] = []
    for leg in legs { filters.append(try app.filter(of: leg, start: start)) }
    self.init(
      filter: DeviceFilter(joining: filters[0], Array(filters.dropFirst())), parts: legs.map(\.id))
  }
}

extension AppChannel {
  /// Returns the device filter of a campaign's leg.
  ///
  /// - Parameter start: the start of the campaign, in ms since the epoch.
  /// - Throws: an error if the app does not use the push service of the leg.
  func filter(of campaign: Campaign, start: Int) throws(JobError) -> DeviceFilter {
    let channel = try requiredChannel(of: campaign)
    return DeviceFilter(
      campaign, service: channel.service, environment: channel.environment, start: start, control: control)
  }

  /// Returns the channel of a campaign's leg.
  ///
  /// - Throws: an error if the app does not use its push service.
  func requiredChannel(of campaign: Campaign) throws(JobError) -> ServiceChannel {
    if let channel = channel(of: campaign) { return channel }
    throw JobError(
      field: "services",
      message: "app \(campaign.app) does not use the push service \(campaign.service)",
      hint: "add the service to apps.\(campaign.app)")
  }
}
