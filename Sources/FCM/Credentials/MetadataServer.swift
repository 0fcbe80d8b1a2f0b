internal import Glibc
internal import PushCore
internal import PushTransport

/// Metadata server of Google Cloud, which issues access tokens for the service account of a machine or a pod.
///
/// Source: Google Cloud, "About VM metadata" and "Authenticate workloads"; google-auth,
/// `google/auth/compute_engine/_metadata.py`.
public struct MetadataServer: AccessTokenMint, Sendable, Equatable {
  /// Host of the server, which `GCE_METADATA_HOST` replaces.
  static let defaultHost = "metadata.google.internal"
  /// ms for the whole exchange. The server is on the same host or close to it.
  private static let timeout = 3000

  /// `host` or `host:port`.
  let host: String

  /// - Parameter host: `host` or `host:port`; `nil` for the variable `GCE_METADATA_HOST` or else Google's name.
  public init(host: String? = nil) {
    // getenv(3) returns a string that is valid until the variable changes. Nothing here changes it.
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
          "\(name) does not answer like one of Google Cloud; set serviceAccountFile outside of Google Cloud")
      }
      // A missing account or scope can be added while the machine runs, so no answer stops the credential.
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
