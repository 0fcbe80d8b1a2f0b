import APNs
import CommandSupport
import Foundation
import PushCore
import TLS

/// What follows from an app's credential, and from the files that it comes from.
enum CredentialRules {
  /// Days before a certificate's end from which on it is told of.
  static let soon = 30
  private static let day: Int64 = 86_400

  /// Reads the files as a worker would.
  ///
  /// - Parameter now: UNIX seconds.
  static func findings(_ name: String, _ app: CarillonConfiguration.App, now: Int64) -> [DoctorFinding] {
    let files = CredentialFiles(app: name)
    do {
      switch app.credential {
      case .token(let token):
        _ = try files.key(token)
        return findings(name, token)
      case .certificate(let certificate):
        let identity = try files.identity(certificate)
        let push = PushCertificate(try CertificateFacts(pem: identity.certificateChainPEM))
        try files.check(push, for: app)
        return [expiry(name, push, now: now)]
      }
    } catch {
      return [.problem(.credential, name, error)]
    }
  }

  /// A key's id is no part of it: only its file's name can tell that it is another one's.
  static func findings(_ name: String, _ token: CarillonConfiguration.Token) -> [DoctorFinding] {
    let file = token.keyFile.split(separator: "/").last.map(String.init) ?? token.keyFile
    if file.hasPrefix("AuthKey_"), file.hasSuffix(".p8"),
      case let id = String(file.dropFirst("AuthKey_".count).dropLast(".p8".count)), id != token.keyID
    {
      return [
        .advice(
          .credential, name, "the key's file is called \(file), and its id is said to be \(token.keyID)",
          cure: "unless you renamed it, set apps.\(name).token.keyID to \(id): APNs refuses a key of another id")
      ]
    }
    return [.well(.credential, name, "key \(token.keyID) of team \(token.teamID) can be read, and does not expire")]
  }

  /// When a certificate ends.
  static func expiry(_ name: String, _ certificate: PushCertificate, now: Int64) -> DoctorFinding {
    let left = certificate.validity.upperBound - now
    let cure = "renew it at developer.apple.com, and exchange the file: workers take it within seconds"
    if certificate.validity.lowerBound > now {
      return .problem(
        .credential, name, "“\(certificate.name)” is not valid yet", cure: "look at this machine's clock, or wait")
    }
    if left < 0 { return .problem(.credential, name, "“\(certificate.name)” has expired", cure: cure) }
    let text = "“\(certificate.name)” is valid for \(left / day) more days"
    return left < Int64(soon) * day ? .problem(.credential, name, text, cure: cure) : .well(.credential, name, text)
  }
}
