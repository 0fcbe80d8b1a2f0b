import CommandSupport
import ServiceTools

/// Findings about the credentials of an app, and about the files that contain them.
enum CredentialRules {
  /// Reads the files as a worker does, and returns the findings.
  ///
  /// - Parameter now: UNIX seconds.
  static func findings(_ name: String, _ app: CarillonConfiguration.App, now: Int64) -> [DoctorFinding] {
    app.services.flatMap { findings(name, $0, now: now) }
  }

  private static func findings(
    _ name: String, _ service: CarillonConfiguration.AppService, now: Int64
  ) -> [DoctorFinding] {
    do {
      return try service.settings.credentialFindings(now: now).map { finding in
        switch finding {
        case .healthy(let text): .healthy(.credential, name, text)
        case .advice(let text, let hint): .advice(.credential, name, text, hint: hint)
        case .problem(let text, let hint): .problem(.credential, name, text, hint: hint)
        }
      }
    } catch {
      return [.problem(.credential, name, error)]
    }
  }
}
