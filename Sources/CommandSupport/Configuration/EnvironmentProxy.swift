package import PushTransport
import PushCore
package import PushWorker
package import ServiceTools

/// A proxy that the environment names for https. libcurl goes through it, the native engine does not: whoever set it
/// must learn that from us and not from connections that never come about.
///
/// Source: curl's manual page, "ENVIRONMENT".
package struct EnvironmentProxy: Equatable {
  /// The variable that names it. Its value may hold a password and is not kept.
  let variable: String
  /// Hosts and domains that are reached without it; `*` is all.
  private let exceptions: [String]

  /// - Returns: `nil` where no variable names one.
  init?(_ environment: [String: String]) {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    guard let variable = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].first(where: { value($0) != nil })
    else { return nil }
    self.variable = variable
    exceptions = (value("no_proxy") ?? value("NO_PROXY") ?? "").lowercased().split { ", ".contains($0) }
      .map { String($0.hasPrefix(".") ? $0.dropFirst() : $0) }
  }

  /// Whether libcurl would go through it to this host.
  func serves(host: String) -> Bool {
    let host = host.lowercased()
    return !exceptions.contains { $0 == "*" || host == $0 || host.hasSuffix("." + $0) }
  }

  /// Refuses a worker whose engine would go past the proxy that the environment names.
  ///
  /// - Parameters:
  ///   - channels: of the configured apps, by name.
  ///   - engine: `worker.engine`.
  ///   - environment: of this process.
  /// - Throws: ``ConfigurationError`` with the variable, the first such app, and what to do.
  package static func check(
    _ channels: [String: AppChannel], engine: PushEngineKind, environment: [String: String]
  ) throws(ConfigurationError) {
    guard engine == .native, let proxy = EnvironmentProxy(environment) else { return }
    for (name, channel) in channels.sorted(by: { $0.key < $1.key }) {
      for endpoint in [channel.endpoint, channel.broadcastEndpoint].compactMap(\.self) where endpoint.proxy == nil {
        guard let host = EndpointAddress(url: endpoint.url)?.host, proxy.serves(host: host) else {
          continue
        }
        throw ConfigurationError(
          key: "worker.engine", message: "native does not look at \(proxy.variable), and apps.\(name) names no proxy",
          origin: "environment variable \(proxy.variable)",
          hint:
            "name an http:// proxy in apps.\(name).proxy.url, or set worker.engine to curl, or add \(host) to no_proxy")
      }
    }
  }
}
