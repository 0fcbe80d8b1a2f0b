internal import PushCore
internal import PushTransport
internal import TLS

/// Client of the token endpoint: exchanges an assertion of a service account for an access token (RFC 7523).
struct ServiceAccountMint: AccessTokenMint {
  /// Timeouts in ms. The first is for lookup, connection and TLS handshake together, the second for the whole exchange.
  /// Google's endpoint answers within a second, but a proxy may be slow.
  private static let connectTimeout = 5000
  private static let timeout = 20_000
  /// Grant type of RFC 7523, percent-encoded as a value of a form.
  private static let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"

  private let account: ServiceAccount
  private let trustRoots: String?
  private let proxy: PushEndpoint.Proxy?

  init(_ account: ServiceAccount, trustRoots: String?, proxy: PushEndpoint.Proxy?) {
    (self.account, self.trustRoots, self.proxy) = (account, trustRoots, proxy)
  }

  var rules: AccessTokenPolicy.Rules { .serviceAccount }

  func token(at time: Int64) async -> AccessTokenAnswer {
    guard let endpoint = TokenEndpoint(account.tokenURI) else {
      return .refused("token_uri is not a URL that begins with https://; use the unchanged JSON key file")
    }
    let assertion: String
    do throws(SigningKeyError) {
      assertion = try Assertion.jwt(of: account, at: time)
    } catch {
      return .refused("the key of \(account.clientEmail) can't sign: \(error.reason); use the unchanged JSON key file")
    }
    // The alphabet of a JWT needs no percent-encoding (RFC 7515 section 7.1).
    let request = HTTPExchange.Request(
      method: "POST", path: endpoint.path,
      headers: [.init("content-type", "application/x-www-form-urlencoded"), .init("user-agent", "carillon")],
      body: Array("grant_type=\(Self.grant)&assertion=\(assertion)".utf8))
    do throws(HTTPExchange.Failure) {
      let response = try await HTTPExchange.perform(
        request, at: PushEndpoint(url: endpoint.origin, trustRoots: trustRoots, proxy: proxy),
        connectTimeout: Self.connectTimeout, timeout: Self.timeout)
      return TokenEndpointReply(endpoint: endpoint.origin, account: account.clientEmail).read(response, time: time)
    } catch {
      return .later(
        "\(endpoint.origin) can't be reached: \(error.message); check the network, the proxy and the firewall")
    }
  }
}
