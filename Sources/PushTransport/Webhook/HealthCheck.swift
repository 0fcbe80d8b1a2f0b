internal import PushCore

/// Where an app's own backend says how it is: by a `GET` that it answers with 2xx, soon.
///
/// The operator names the address, so it may be a private one. A redirect is no answer, and no proxy of the environment is
/// taken, as with a ``Webhook``.
public struct HealthCheck: Sendable, Equatable {
  public var url: String
  /// ms: an answer that takes longer is slow.
  public var slowAfter: Int
  /// ms for the whole: what takes longer has failed.
  public var timeout: Int
  /// A PEM file of the authorities to trust instead of the system's.
  public var trustRoots: String?

  /// Memberwise.
  public init(url: String, slowAfter: Int, timeout: Int = 5000, trustRoots: String? = nil) {
    self.url = url
    self.slowAfter = slowAfter
    self.timeout = timeout
    self.trustRoots = trustRoots
  }

  /// How a backend is.
  public enum Finding: Sendable, Equatable {
    case well
    /// It answered, after so many ms.
    case slow(milliseconds: Int)
    /// It did not answer, or not as it should.
    case failing(String)
  }

  /// What follows from an answer. Pure.
  ///
  /// - Parameter elapsed: ms.
  func finding(status: UInt16, after elapsed: Int) -> Finding {
    switch status {
    case 200..<300: elapsed > slowAfter ? .slow(milliseconds: elapsed) : .well
    case 300..<400: .failing("it redirects (status \(status)), which is not followed")
    default: .failing("status \(status)")
    }
  }

  /// Asks once.
  public func look() async -> Finding {
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
