import PushTransport
import PushWorker

/// Findings from the health check of an app's backend. Pure.
enum BackendRules {
  /// Returns the finding for the result of a health check.
  ///
  /// - Parameters:
  ///   - app: the app's name.
  ///   - finding: the result of the health check.
  static func finding(_ app: String, _ backend: AppBackend, _ finding: HealthCheck.Finding) -> DoctorFinding {
    let url = backend.check.url
    let hint =
      "fix the backend or apps.\(app).backend; until then the app's campaigns are throttled, down to \(backend.leastShare) "
      + "of \(backend.rate) pushes per second"
    return switch finding {
    case .healthy: .healthy(.network, app, "the health check of its backend succeeded at \(url)")
    case .slow(let milliseconds):
      .advice(
        .network, app,
        "its backend answered after \(milliseconds) ms at \(url), which is slow: "
          + "the limit is \(backend.check.slowAfter) ms",
        hint: hint)
    case .failing(let error):
      .problem(.network, app, "the health check of its backend failed at \(url): \(error)", hint: hint)
    }
  }
}
