import CampaignStore
import CommandSupport
import PushCore
import ServiceTools

extension CarillonConfiguration {
  /// Returns the device filter of a campaign with all its legs, according to the configuration of the workers.
  ///
  /// - Parameters:
  ///   - legs: the campaign of each leg, in their order; at least one.
  ///   - start: the start of the campaign, in ms since the epoch.
  /// - Throws: `CommandError` if the configuration has no such app or service.
  func filter(of legs: [Campaign], start: Int) throws -> DeviceFilter {
    let filters = try legs.map { try filter(of: $0, start: start) }
    guard let first = filters.first else { throw CommandError(.defect, "a campaign without a push service") }
    return DeviceFilter(joining: first, Array(filters.dropFirst()))
  }

  /// Returns the device filter of one leg.
  private func filter(of leg: Campaign, start: Int) throws -> DeviceFilter {
    let (app, service) = try settings(of: leg)
    return DeviceFilter(
      leg, service: service.settings.service, environment: service.settings.environmentName, start: start,
      control: app.control)
  }

  /// Returns the settings of a leg's app, and the app's settings for the leg's push service.
  func settings(of leg: Campaign) throws -> (app: App, service: AppService) {
    guard let app = apps[leg.app] else {
      throw CommandError(.input, "no app \(Excerpt.quoted(leg.app)) in the configuration")
    }
    let name = leg.service
    guard let service = app[name] else {
      throw CommandError(.input, "app \(leg.app) does not use the push service \(Excerpt.quoted(name))")
    }
    return (app, service)
  }
}
