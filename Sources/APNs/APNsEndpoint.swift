/// Where pushes go, and whom to trust there.
public struct APNsEndpoint: Sendable, Equatable {
  /// `https://host:port`, without a path.
  public var url: String
  /// A PEM file of the authorities to trust instead of the system's; for the simulator or a proxy.
  public var trustRoots: String?

  /// - Parameters:
  ///   - url: `https://host[:port]`; a trailing slash is dropped. Cleartext HTTP/2 is not supported.
  ///   - trustRoots: a PEM file, or `nil` for the system's authorities.
  public init(url: String, trustRoots: String? = nil) {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.trustRoots = trustRoots
  }

  /// Apple's servers for apps from the App Store, TestFlight and enterprises. Source: Apple, "Sending notification
  /// requests to APNs".
  public static let production = APNsEndpoint(url: "https://api.push.apple.com:443")
  /// Apple's servers for development builds.
  public static let sandbox = APNsEndpoint(url: "https://api.sandbox.push.apple.com:443")
}
