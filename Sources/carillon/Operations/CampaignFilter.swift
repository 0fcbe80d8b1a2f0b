import CampaignStore
import CommandSupport
import PushCore
import ServiceTools

extension CampaignStore {
  /// Returns the device filter of a campaign that begins now, by the configuration of the workers.
  ///
  /// - Throws: `CommandError` if the configuration has no such app.
  func filter(of campaign: Campaign, _ configuration: CarillonConfiguration) async throws -> DeviceFilter {
    try Self.filter(of: campaign, start: try await time() / 1000, configuration)
  }

  /// Returns the device filter of a campaign that begins at a time in ms since the epoch.
  static func filter(
    of campaign: Campaign, start: Int, _ configuration: CarillonConfiguration
  ) throws -> DeviceFilter {
    guard let app = configuration.apps[campaign.app] else {
      throw CommandError(.input, "no app \(Excerpt.quoted(campaign.app)) in the configuration")
    }
    return DeviceFilter(
      campaign, service: app.service.settings.service, environment: app.service.settings.environmentName, start: start,
      control: app.control)
  }
}
