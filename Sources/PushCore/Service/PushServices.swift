/// Push services of a program, and the assignment of apps to services.
public struct PushServices: Sendable {
  /// Service of the apps whose configuration names no service.
  public let standard: any PushService
  private let byName: [String: any PushService]
  private let byApp: [String: [any PushService]]

  /// - Parameters:
  ///   - standard: service of the apps whose configuration names no service.
  ///   - others: the other services, each with a unique name.
  ///   - apps: services by app, for all apps that do not use exactly the `standard` service.
  public init(standard: any PushService, others: [any PushService] = [], apps: [String: [any PushService]] = [:]) {
    self.standard = standard
    byName = Dictionary(uniqueKeysWithValues: ([standard] + others).map { ($0.name, $0) })
    byApp = apps
  }

  /// Returns the services of an app.
  public func services(ofApp app: String) -> [any PushService] { byApp[app] ?? [standard] }

  /// Returns the service of the first leg of a campaign. A campaign to tokens or to a channel has no other leg.
  public func first(of campaign: Campaign) -> any PushService {
    campaign.legs.first.flatMap { self[$0.service] } ?? standard
  }

  /// The service with this name; `nil` if the program has none.
  public subscript(name: String) -> (any PushService)? { byName[name] }

  /// Names of all services, sorted.
  public var names: [String] { byName.keys.sorted() }
}
