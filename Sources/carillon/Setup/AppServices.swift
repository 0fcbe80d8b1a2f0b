import APNs
import CommandSupport
import PushCore
import TLS

extension CarillonConfiguration {
  /// What carries the pushes of each app, with what its rules have to know of the app.
  ///
  /// A certificate that can't be read here, as on the machine of a producer who has none, leaves its topics to the
  /// workers, which don't start without it.
  func pushServices() -> [String: APNsService] {
    Dictionary(uniqueKeysWithValues: apps.map { name, app in (name, APNsService(app.traits(named: name))) })
  }

  /// What jobs are held against.
  func jobApps() -> JobApps { .known(pushServices()) }
}

extension CarillonConfiguration.App {
  /// What the rules have to know of an app.
  func traits(named name: String) -> AppTraits {
    guard case .certificate(let certificate) = credential else { return AppTraits(topic: topic) }
    let identity = try? CredentialFiles(app: name).identity(certificate)
    let facts = identity.flatMap { try? CertificateFacts(pem: $0.certificateChainPEM) }
    let topics = facts.map { Set(PushCertificate($0).topics) } ?? []
    return AppTraits(topic: topic, authentication: .certificate(topics: topics))
  }
}
