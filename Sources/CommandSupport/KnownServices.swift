import APNs
import FCM
package import PushCore
package import ServiceTools

/// The tools of all push services of the program. The tools of a service read its settings, lint its pushes and explain
/// its answers.
package struct KnownServices: Sendable {
  /// Every service. A new service is added here.
  package static let all = KnownServices(standard: APNsTools(), others: [FCMTools()])

  /// Service that applies if an app or a command names none.
  package let standard: any PushServiceTools
  /// All services, ``standard`` first.
  package let tools: [any PushServiceTools]

  /// - Parameters:
  ///   - standard: the service of an app without a service name.
  ///   - others: the other services.
  package init(standard: any PushServiceTools, others: [any PushServiceTools] = []) {
    self.standard = standard
    tools = [standard] + others
  }

  /// Names of the services in configurations.
  package var names: [String] { tools.map(\.service.name) }

  /// Returns the tools of the service with this name; `nil` if there is none.
  package subscript(name: String) -> (any PushServiceTools)? { tools.first { $0.service.name == name } }

  /// Returns the tools for a file, at least one: the tools of the services that a job or template addresses, or of the
  /// service to which a payload belongs.
  ///
  /// Without a configuration, a job or template addresses the services that it names, or otherwise the services whose
  /// objects it contains.
  ///
  /// - Parameters:
  ///   - file: a JSON text. For any other text, the result is ``standard``.
  ///   - app: the app of a payload; `nil` if the caller does not know it.
  ///   - apps: the apps of the configuration; `.any` if there is none.
  package func tools(for file: [UInt8], app: String?, _ apps: JobApps) -> [any PushServiceTools] {
    // If there is only one service, the file is not parsed, because it may be long.
    guard tools.count > 1,
      let root = try? JSONValue(parsing: file, maximumDepth: CampaignJob.maximumNesting, allowsRepeats: true),
      case .object(let members) = root.kind
    else { return [standard] }
    let own = tools.filter { members.value($0.service.name) != nil }
    if tools.contains(where: { $0.isJob(root) }) {
      var named: [any PushServiceTools] = []
      if case .array(let services)? = members.value("services")?.kind {
        named = tools.filter { tools in
          services.contains { if case .string(tools.service.name) = $0.kind { true } else { false } }
        }
      }
      if !named.isEmpty { return named }
      if case .string(let app)? = members.value("app")?.kind, let used = services(of: app, apps) { return used }
      return own.isEmpty ? [standard] : own
    }
    let ofApp = app.flatMap { services(of: $0, apps) } ?? []
    guard tools.contains(where: { $0.service.isTemplate(root, services: names) }) else {
      return [ofApp.first { $0.isPayload(root) } ?? ofApp.first ?? tools.first { $0.isPayload(root) } ?? standard]
    }
    if !own.isEmpty { return own }
    guard case .known = apps else { return [standard] }
    let used = tools.filter { tools in apps.allServices.contains { $0.name == tools.service.name } }
    return ofApp.isEmpty ? used.isEmpty ? [standard] : used : ofApp
  }

  /// Returns the tools of the services that an app of the configuration uses; `nil` for an unknown app.
  private func services(of app: String, _ apps: JobApps) -> [any PushServiceTools]? {
    guard case .known(let services) = apps, let names = services[app]?.map(\.name) else { return nil }
    return tools.filter { names.contains($0.service.name) }
  }
}

extension PushServices {
  /// All push services of this program.
  package static let known = PushServices.known(apps: [:])

  /// Returns all push services of this program.
  ///
  /// - Parameter apps: the services of the configured apps.
  package static func known(apps: [String: [any PushService]]) -> PushServices {
    PushServices(
      standard: KnownServices.all.standard.service, others: KnownServices.all.tools.dropFirst().map(\.service),
      apps: apps)
  }

  /// Returns the service for the value of `--service`; the standard service for `nil`.
  package func named(_ name: String?) throws(CommandError) -> any PushService {
    guard let name else { return standard }
    guard let service = self[name] else {
      throw CommandError(
        .input, "--service: there is no push service \(Excerpt.quoted(name))", hint: Nearest.hint(name, among: names))
    }
    return service
  }
}

extension PushService {
  /// Returns the token for the value of `--token`.
  package func token(argument: String) throws(CommandError) -> DeviceToken {
    guard let token = token(argument) else {
      throw CommandError(
        .input, "--token: not \(tokenForm)", hint: "use the token that the app got when it registered for pushes")
    }
    return token
  }
}
