/// The push services that a program knows, and which of them each app uses.
public struct PushServices: Sendable {
  /// That of whoever names none.
  public let standard: any PushService
  private let byName: [String: any PushService]
  private let byApp: [String: any PushService]

  /// - Parameters:
  ///   - standard: the service of whoever names none.
  ///   - others: the other ones, each of a name of its own.
  ///   - apps: the service of every app that has another than the standard one.
  public init(standard: any PushService, others: [any PushService] = [], apps: [String: any PushService] = [:]) {
    self.standard = standard
    byName = Dictionary(uniqueKeysWithValues: ([standard] + others).map { ($0.name, $0) })
    byApp = apps
  }

  /// The service of an app.
  public func service(ofApp app: String) -> any PushService { byApp[app] ?? standard }

  /// The service of this name; `nil` when the program doesn't know it.
  public subscript(name: String) -> (any PushService)? { byName[name] }

  /// The names of all services, sorted.
  public var names: [String] { byName.keys.sorted() }
}
