import APNs
import CommandSupport
import PushCore
import TLS

extension CarillonConfiguration {
  /// What the rules for pushes have to know of the apps.
  ///
  /// A certificate that can't be read here, as on the machine of a producer who has none, leaves its topics to the
  /// workers, which don't start without it.
  func appTraits() -> [String: AppTraits] {
    Dictionary(uniqueKeysWithValues: apps.map { name, app in (name, app.traits(named: name)) })
  }
}

extension CarillonConfiguration.App {
  /// The same of one app.
  func traits(named name: String) -> AppTraits {
    guard case .certificate(let certificate) = credential else { return AppTraits(topic: topic) }
    let identity = try? CredentialFiles(app: name).identity(certificate)
    let facts = identity.flatMap { try? CertificateFacts(pem: $0.certificateChainPEM) }
    let topics = facts.map { Set(PushCertificate($0).topics) } ?? []
    return AppTraits(topic: topic, authentication: .certificate(topics: topics))
  }
}
