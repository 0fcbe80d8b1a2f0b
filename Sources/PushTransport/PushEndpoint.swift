/// Endpoint of pushes, with its proxy and the trusted authorities.
public struct PushEndpoint: Sendable, Equatable {
  /// HTTP proxy through which connections are tunnelled (CONNECT).
  public struct Proxy: Sendable, Equatable {
    /// `http://host:port`, or `https://host:port` if the connection to the proxy is encrypted.
    public var url: String
    /// Login at the proxy, with Basic or Digest as the proxy requires; `nil` for none.
    public var login: Login?

    /// Name and password.
    public struct Login: Sendable, Equatable {
      public var user: String
      public var password: String

      /// Creates an instance with these values.
      public init(user: String, password: String) {
        self.user = user
        self.password = password
      }
    }

    /// Creates an instance with these values.
    public init(url: String, login: Login? = nil) {
      self.url = url
      self.login = login
    }
  }

  /// `https://host:port`, without a path.
  public var url: String
  /// PEM file of the authorities to trust instead of the system's; for the simulator or a proxy.
  public var trustRoots: String?
  /// Proxy for the endpoint; `nil` to use the environment (`https_proxy`, `no_proxy`), as libcurl does.
  public var proxy: Proxy?

  /// Creates the endpoint for a request to a complete URL, which is used unchanged.
  init(verbatim url: String, trustRoots: String?) {
    self.url = url
    self.trustRoots = trustRoots
  }

  /// - Parameters:
  ///   - url: `https://host[:port]`; a trailing slash is dropped. Cleartext HTTP/2 is not supported.
  ///   - trustRoots: a PEM file, or `nil` for the system's authorities.
  ///   - proxy: the proxy for the endpoint.
  public init(url: String, trustRoots: String? = nil, proxy: Proxy? = nil) {
    self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
    self.trustRoots = trustRoots
    self.proxy = proxy
  }
}
