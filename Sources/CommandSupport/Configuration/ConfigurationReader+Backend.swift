import PushCore
import PushTransport
import PushWorker
import ServiceTools

/// The section `apps.NAME.backend`.
extension ConfigurationReader {
  /// Reads the section `backend` of an app.
  ///
  /// - Parameters:
  ///   - section: the section of the app.
  ///   - services: the push services of the app.
  func readBackend(
    _ section: ConfigurationSection, _ services: [CarillonConfiguration.AppService]
  ) throws(ConfigurationError) -> AppBackend? {
    guard section.has("backend") else { return nil }
    let backend = try section.section("backend", keys: schema["apps.*.backend"])
    let timeout = try backend.duration("timeout", in: 100...30_000, default: 5000).milliseconds
    let slowAfter = try backend.duration("slowAfter", in: 10...30_000, default: 1000).milliseconds
    guard slowAfter < timeout else {
      throw backend.error(
        "slowAfter", "must be shorter than timeout", hint: "raise timeout or lower slowAfter")
    }
    let interval = try backend.duration("every", in: 1000...30_000, default: 5000).milliseconds
    let leastShare = try backend.share("leastShare", default: 0.1)
    var rate = try readRate(backend)
    // If the section has no rate, the rate of the backend is the sum of the rates of all services, if each has one.
    if rate == nil, services.allSatisfy({ $0.rate != nil }) { rate = services.reduce(0) { $0 + ($1.rate ?? 0) } }
    let url = try backend.required("healthURL", hint: "such as http://backend.internal:8080/health")
    guard !url.contains("@") else {
      // The URL contains a password, so the message does not repeat it.
      throw backend.error(
        "healthURL", "must not contain a user name and password",
        hint: "make the health check available in your network without a password")
    }
    guard let scheme = ["https://", "http://"].first(where: url.hasPrefix), url.count > scheme.count,
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw backend.error(
        "healthURL", "\(Excerpt.quoted(url)) is not an http:// or https:// URL",
        hint: "such as http://backend.internal:8080/health")
    }
    guard let rate else {
      throw backend.error(
        "rate", "is missing, and a push service of the app has no rate either",
        hint: "set it to the pushes per second that the healthy backend can serve: throttling starts from this rate")
    }
    return AppBackend(
      check: HealthCheck(
        url: url, slowAfter: slowAfter, timeout: timeout, trustRoots: try trustRoots(of: backend)),
      interval: interval, rate: rate, leastShare: leastShare)
  }
}

extension Duration {
  fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
