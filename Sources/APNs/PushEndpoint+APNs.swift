public import PushTransport

/// The addresses of APNs.
extension PushEndpoint {
  /// Apple's servers for apps from the App Store, TestFlight and enterprises. Source: Apple, "Sending notification
  /// requests to APNs".
  public static let production = production(port: 443)
  /// Apple's servers for development builds.
  public static let sandbox = sandbox(port: 443)

  /// Returns ``production`` with port 443 or 2197. A firewall can allow port 2197 without allowing other HTTPS.
  public static func production(port: Int) -> PushEndpoint { PushEndpoint(url: "https://api.push.apple.com:\(port)") }
  /// Returns ``sandbox`` with port 443 or 2197.
  public static func sandbox(port: Int) -> PushEndpoint {
    PushEndpoint(url: "https://api.sandbox.push.apple.com:\(port)")
  }
}
