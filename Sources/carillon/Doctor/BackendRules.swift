import PushTransport
import PushWorker

/// What follows from how an app's own backend answers. Pure.
enum BackendRules {
  /// - Parameters:
  ///   - app: its name.
  ///   - finding: of the look.
  static func finding(_ app: String, _ backend: AppBackend, _ finding: HealthCheck.Finding) -> DoctorFinding {
    let url = backend.check.url
    let cure =
      "mend it, or apps.\(app).backend: while it is so the app's campaigns go slower, down to \(backend.leastShare) "
      + "of \(backend.rate) a second"
    return switch finding {
    case .well: .well(.network, app, "its backend is well, at \(url)")
    case .slow(let milliseconds):
      .advice(
        .network, app,
        "its backend takes \(milliseconds) ms to answer at \(url), and slow is \(backend.check.slowAfter)",
        cure: cure)
    case .failing(let error): .problem(.network, app, "its backend is not well at \(url): \(error)", cure: cure)
    }
  }
}
