import APNs
package import PushCore
package import ServiceTools

/// The tools of the push services that a program has.
package struct KnownServices: Sendable {
  /// Every service. A new service is added here.
  package static let all = KnownServices(standard: APNsTools())

  /// The service of an app that names none.
  package let standard: any PushServiceTools
  /// All services, ``standard`` first.
  package let tools: [any PushServiceTools]

  /// - Parameters:
  ///   - standard: the service of an app that names none.
  ///   - others: the other services.
  package init(standard: any PushServiceTools, others: [any PushServiceTools] = []) {
    self.standard = standard
    tools = [standard] + others
  }

  /// The names of the services, as configurations have them.
  package var names: [String] { tools.map(\.service.name) }

  /// The tools of the service of this name; `nil` if there is none.
  package subscript(name: String) -> (any PushServiceTools)? { tools.first { $0.service.name == name } }

  /// The service that a file is for: the service of its app or, without a known app, the service whose payload it looks like.
  ///
  /// - Parameters:
  ///   - file: JSON; other text is for ``standard``.
  ///   - app: the app of a payload; `nil` if nobody names one.
  ///   - apps: the apps of the configuration.
  package func tools(for file: [UInt8], app: String?, _ apps: JobApps) -> any PushServiceTools {
    // With one service there is nothing to find out, and a long file is not read once more.
    guard tools.count > 1,
      let root = try? JSONValue(parsing: file, maximumDepth: CampaignJob.maximumNesting, allowsRepeats: true)
    else { return standard }
    var app = app
    if app == nil, case .object(let members) = root.kind, case .string(let name)? = members.value("app")?.kind {
      app = name
    }
    if let app, case .known(let services) = apps, let service = services[app], let tools = self[service.name] {
      return tools
    }
    return tools.first { $0.isPayload(root) } ?? standard
  }
}

extension PushServices {
  /// The push services that this program has.
  package static let known = PushServices(
    standard: KnownServices.all.standard.service, others: KnownServices.all.tools.dropFirst().map(\.service))

  /// A service by the value of `--service`; the standard one without.
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
  /// A token by the value of `--token`.
  package func token(argument: String) throws(CommandError) -> DeviceToken {
    guard let token = token(argument) else {
      throw CommandError(
        .input, "--token: not \(tokenForm)", hint: "a token is what the app got when it registered for pushes")
    }
    return token
  }
}
