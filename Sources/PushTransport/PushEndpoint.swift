/// Where pushes go, and whom to trust there.
public struct PushEndpoint: Sendable, Equatable {
  /// An HTTP proxy that connections are tunnelled through (CONNECT).
  public struct Proxy: Sendable, Equatable {
    /// `http://host:port`, or `https://` when the way to the proxy is encrypted itself.
    public var url: String
    /// Who we are to the proxy, by Basic or Digest, whichever it asks for; `nil` for nobody.
    public var login: Login?

    /// Name and password.
    public struct Login: Sendable, Equatable {
      public var user: String
      public var password: String

      /// Memberwise.
      public init(user: String, password: String) {
        self.user = user
        self.password = password
      }
    }

    /// Memberwise.
    public init(url: String, login: Login? = nil) {
      self.url = url
      self.login = login
    }
  }

  /// `https://host:port`, without a path.
  public var url: String
  /// A PEM file of the authorities to trust instead of the system's; for the simulator or a proxy.
  public var trustRoots: String?
  /// The proxy on the way there; `nil` leaves it to the environment (`https_proxy`, `no_proxy`), as libcurl does.
  public var proxy: Proxy?

  /// For one request to a whole URL.
  init(verbatim url: String, trustRoots: String?) {
    self.url = url
    self.trustRoots = trustRoots
  }

  /// - Parameters:
  ///   - url: `https://host[:port]`; a trailing slash is dropped. Cleartext HTTP/2 is not supported.
  ///   - trustRoots: a PEM file, or `nil` for the system's authorities.
  ///   - proxy: on the way there.
  public init(url: String, trustRoots: String? = nil, proxy: Proxy? = nil) {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.trustRoots = trustRoots
    self.proxy = proxy
  }
}
