internal import Glibc
internal import PushCore
internal import PushTransport

/// Client of the metadata server of Google Cloud. The server issues access tokens for the service account of a machine
/// or a pod.
///
/// Source: Google Cloud, "About VM metadata" and "Authenticate workloads"; google-auth,
/// `google/auth/compute_engine/_metadata.py`.
public struct MetadataServer: AccessTokenMint, Sendable, Equatable {
  /// Host of the server, unless `GCE_METADATA_HOST` names another one.
  static let defaultHost = "metadata.google.internal"
  /// Timeout in ms for the whole exchange. The server is on the same host or close to it.
  private static let timeout = 3000

  /// `host` or `host:port`.
  let host: String

  /// - Parameter host: `host` or `host:port`; `nil` for the value of `GCE_METADATA_HOST`, or Google's name if the
  ///   variable is not set.
  public init(host: String? = nil) {
    // getenv(3): the returned string is valid until the variable changes. Carillon never changes the environment.
    self.host = host ?? getenv("GCE_METADATA_HOST").map { String(cString: $0) } ?? Self.defaultHost
  }

  var rules: AccessTokenPolicy.Rules { .metadataServer }

  func token(at time: Int64) async -> AccessTokenAnswer {
    let request = HTTPExchange.Request(
      method: "GET", path: "/computeMetadata/v1/instance/service-accounts/default/token?scopes=\(Assertion.scope)",
      headers: [.init("metadata-flavor", "Google"), .init("user-agent", "carillon")])
    let name = "the metadata server \(host)"
    do throws(HTTPExchange.Failure) {
      let response = try await HTTPExchange.perform(
        request, at: PushEndpoint(url: "http://\(host)"), connectTimeout: Self.timeout, timeout: Self.timeout,
        reach: .direct)
      guard response.header("metadata-flavor") == "Google" else {
        return .later(
          "\(name) does not answer like the server of Google Cloud; set serviceAccountFile outside of Google Cloud")
      }
      // A missing account or scope can be added while the machine runs, so an error only delays the credential and
      // never stops it.
      guard response.status == 200 else {
        return .later(
          "\(name) answered with status \(response.status); attach a service account with the scope \(Assertion.scope) "
            + "to this machine or pod")
      }
      return TokenEndpointReply(endpoint: name, account: "this machine").read(response, time: time)
    } catch {
      return .later("\(name) can't be reached: \(error.message); set serviceAccountFile outside of Google Cloud")
    }
  }
}
