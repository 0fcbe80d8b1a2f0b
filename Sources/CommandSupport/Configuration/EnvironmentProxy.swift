package import PushTransport
import PushCore
package import PushWorker
package import ServiceTools

/// The proxy for https in the environment variables. libcurl uses the proxy, but the native engine does not.
/// ``check(_:engine:environment:)`` reports such a proxy at the start of a worker. Otherwise, connections would fail
/// without an explanation.
///
/// Source: curl's manual page, "ENVIRONMENT".
package struct EnvironmentProxy: Equatable {
  /// The variable with the proxy. Its value may contain a password and is not stored.
  let variable: String
  /// Hosts and domains that are reached without the proxy; `*` means all.
  private let exceptions: [String]

  /// - Returns: `nil` if no variable names a proxy.
  init?(_ environment: [String: String]) {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    guard let variable = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].first(where: { value($0) != nil })
    else { return nil }
    self.variable = variable
    exceptions = (value("no_proxy") ?? value("NO_PROXY") ?? "").lowercased().split { ", ".contains($0) }
      .map { String($0.hasPrefix(".") ? $0.dropFirst() : $0) }
  }

  /// Returns whether libcurl would use the proxy for this host.
  func serves(host: String) -> Bool {
    let host = host.lowercased()
    return !exceptions.contains { $0 == "*" || host == $0 || host.hasSuffix("." + $0) }
  }

  /// Throws an error if the worker's engine would ignore the proxy that the environment names.
  ///
  /// - Parameters:
  ///   - channels: the channels of the configured apps, by the apps' names.
  ///   - engine: the value of `worker.engine`.
  ///   - environment: the environment of this process.
  /// - Throws: ``ConfigurationError`` that names the variable, the first affected app and the hint.
  package static func check(
    _ channels: [String: AppChannel], engine: PushEngineKind, environment: [String: String]
  ) throws(ConfigurationError) {
    guard engine == .native, let proxy = EnvironmentProxy(environment) else { return }
    for (name, channel) in channels.sorted(by: { $0.key < $1.key }).flatMap({ name, app in
      app.services.map { ("\(name).\($0.service.name)", $0) }
    }) {
      for endpoint in [channel.endpoint, channel.broadcastEndpoint].compactMap(\.self) where endpoint.proxy == nil {
        guard let host = EndpointAddress(url: endpoint.url)?.host, proxy.serves(host: host) else {
          continue
        }
        throw ConfigurationError(
          key: "worker.engine", message: "the engine native ignores \(proxy.variable), and apps.\(name) has no proxy",
          origin: "environment variable \(proxy.variable)",
          hint:
            "set apps.\(name).proxy.url to an http:// proxy, or set worker.engine to curl, or add \(host) to no_proxy"
        )
      }
    }
  }
}
