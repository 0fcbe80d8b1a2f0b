import CommandSupport
import PushCore
import PushTransport
import ServiceTools

/// The check of a credential whose tokens come from a server. It requests one token, as a worker does before its first
/// push.
struct TokenExamination: Sendable {
  /// The apps that use the credential.
  private var apps: [String]
  private let service: CarillonConfiguration.AppService
  private let endpoint: PushEndpoint
  /// Name of the server.
  private let server: String

  /// Returns each credential of a configuration with a token server once. Credentials whose files can't be read are
  /// omitted: ``CredentialRules`` has findings about them.
  static func all(_ configuration: CarillonConfiguration) -> [TokenExamination] {
    var all: [TokenExamination] = []
    for (name, app) in configuration.apps.sorted(by: { $0.key < $1.key }) {
      for service in app.services {
        guard let server = service.settings.tokenServer,
          let endpoint = try? AppChannels.endpoint(of: service, app: name)
        else { continue }
        let identity = service.settings.credentialIdentity
        if let index = all.firstIndex(where: { $0.service.settings.credentialIdentity == identity }) {
          all[index].apps.append(name)
        } else {
          all.append(TokenExamination(apps: [name], service: service, endpoint: endpoint, server: server))
        }
      }
    }
    return all
  }

  func findings() async -> [DoctorFinding] {
    let subject = apps.joined(separator: ", ")
    guard let credential = try? service.settings.makeCredential(reaching: endpoint) else { return [] }
    if await credential.firstAuthorization() != nil {
      return [.healthy(.credential, subject, "\(server) issues an access token for \(service.tools.service.title)")]
    }
    let title = service.tools.service.title
    guard let problem = credential.problem else {
      return [
        .problem(
          .credential, subject, "no access token for \(title): \(server) does not answer",
          cure: "check the key, the clock of this machine, and the connection to \(server)")
      ]
    }
    // The text of the problem already contains the remedy.
    return [
      .problem(
        .credential, subject, "no access token for \(title): \(problem)",
        cure: "follow the advice in the message, then run carillon doctor again")
    ]
  }
}
