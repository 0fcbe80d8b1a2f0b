internal import PushCore

/// Health check of an app's own backend: a `GET` that the backend must answer with 2xx quickly.
///
/// The operator configures the address, so it may be private. A redirect counts as a failure. As for a ``Webhook``, the
/// check ignores proxies that the environment names.
public struct HealthCheck: Sendable, Equatable {
  public var url: String
  /// Time in ms after which an answer is slow.
  public var slowAfter: Int
  /// Time in ms for the whole request, after which it has failed.
  public var timeout: Int
  /// PEM file of the authorities to trust instead of the system's.
  public var trustRoots: String?

  /// Creates an instance with these values.
  public init(url: String, slowAfter: Int, timeout: Int = 5000, trustRoots: String? = nil) {
    self.url = url
    self.slowAfter = slowAfter
    self.timeout = timeout
    self.trustRoots = trustRoots
  }

  /// Result of a check.
  public enum Finding: Sendable, Equatable {
    case healthy
    /// The backend answered after this number of ms.
    case slow(milliseconds: Int)
    /// The backend did not answer, or not with 2xx.
    case failing(String)
  }

  /// Returns the result for an answer.
  ///
  /// - Parameter elapsed: time in ms.
  func finding(status: UInt16, after elapsed: Int) -> Finding {
    switch status {
    case 200..<300: elapsed > slowAfter ? .slow(milliseconds: elapsed) : .healthy
    case 300..<400: .failing("it redirects (status \(status)), and Carillon does not follow redirects")
    default: .failing("status \(status)")
    }
  }

  /// Performs one check.
  public func run() async -> Finding {
    let request = HTTPExchange.Request(method: "GET", path: "", headers: [.init("user-agent", "carillon")])
    let began = ContinuousClock.now
    do throws(HTTPExchange.Failure) {
      let answer = try await HTTPExchange.perform(
        request, at: PushEndpoint(verbatim: url, trustRoots: trustRoots), connectTimeout: timeout, timeout: timeout,
        reach: .direct)
      return finding(status: answer.status, after: Int((ContinuousClock.now - began) / .milliseconds(1)))
    } catch {
      return .failing(error.message)
    }
  }
}
