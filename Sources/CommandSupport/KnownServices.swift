import APNs
import FCM
package import PushCore
package import ServiceTools

/// Tools of all push services in a program.
package struct KnownServices: Sendable {
  /// Every service. A new service is added here.
  package static let all = KnownServices(standard: APNsTools(), others: [FCMTools()])

  /// Service of an app without a service name.
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

  /// Returns the service of a file: the first one that a job addresses, or else the first one of its app. If the app is
  /// unknown, it is the service that the payload fits.
  ///
  /// - Parameters:
  ///   - file: JSON; other text is for ``standard``.
  ///   - app: the app of a payload; `nil` if the caller does not know it.
  ///   - apps: the apps of the configuration.
  package func tools(for file: [UInt8], app: String?, _ apps: JobApps) -> any PushServiceTools {
    // With one service, the result is clear, and a long file is not read a second time.
    guard tools.count > 1,
      let root = try? JSONValue(parsing: file, maximumDepth: CampaignJob.maximumNesting, allowsRepeats: true)
    else { return standard }
    var app = app
    if app == nil, case .object(let members) = root.kind, case .string(let name)? = members.value("app")?.kind {
      app = name
      if case .array(let services)? = members.value("services")?.kind,
        case .string(let service)? = services.first?.kind,
        let tools = self[service]
      {
        return tools
      }
    }
    if let app, case .known(let services) = apps, let service = services[app]?.first, let tools = self[service.name] {
      return tools
    }
    return tools.first { $0.isPayload(root) } ?? standard
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
        .input, "--token: not \(tokenForm)", hint: "a token is what the app got when it registered for pushes")
    }
    return token
  }
}
