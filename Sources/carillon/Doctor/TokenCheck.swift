import CommandSupport
import PushCore
import PushTransport
import ServiceTools

/// The check of a credential whose tokens come from a server. It requests one token, as a worker does before its first
/// push. If the push service offers a request without an effect, it then checks whether the service accepts the token.
struct TokenCheck: Sendable {
  /// The apps that use the credential.
  private var apps: [String]
  private let service: CarillonConfiguration.AppService
  private let endpoint: PushEndpoint
  /// Name of the server that issues the tokens.
  private let server: String

  /// Returns a check for each credential whose tokens come from a server. Credentials whose files can't be read are
  /// omitted, because ``CredentialRules`` has findings about them.
  static func all(_ configuration: CarillonConfiguration) -> [TokenCheck] {
    var all: [TokenCheck] = []
    for (name, app) in configuration.apps.sorted(by: { $0.key < $1.key }) {
      for service in app.services {
        guard let server = service.settings.tokenServer,
          let endpoint = try? AppChannels.endpoint(of: service, app: name)
        else { continue }
        let identity = service.settings.credentialIdentity
        if let index = all.firstIndex(where: { $0.service.settings.credentialIdentity == identity }) {
          all[index].apps.append(name)
        } else {
          all.append(TokenCheck(apps: [name], service: service, endpoint: endpoint, server: server))
        }
      }
    }
    return all
  }

  func findings() async -> [DoctorFinding] {
    let subject = apps.joined(separator: ", ")
    guard let credential = try? service.settings.makeCredential(reaching: endpoint) else { return [] }
    if case .token(let token)? = await credential.firstAuthorization() {
      return [.healthy(.credential, subject, "\(server) issues an access token for \(service.tools.service.title)")]
        + (await check(token, subject))
    }
    let title = service.tools.service.title
    guard let problem = credential.problem else {
      return [
        .problem(
          .credential, subject, "no access token for \(title): \(server) does not answer",
          hint: "check the key, the clock of this machine, and the connection to \(server)")
      ]
    }
    // The text of the problem already contains the hint.
    return [
      .problem(
        .credential, subject, "no access token for \(title): \(problem)",
        hint: "fix the cause in the message, then run carillon doctor again")
    ]
  }

  /// Checks whether the push service accepts an access token.
  private func check(_ token: BearerToken, _ subject: String) async -> [DoctorFinding] {
    guard let request = service.tools.credentialCheck(of: service.settings.service, with: token) else { return [] }
    let title = service.tools.service.title
    let response: HTTPExchange.Response
    do {
      response = try await HTTPExchange.perform(request, at: endpoint)
    } catch {
      return [
        .problem(
          .credential, subject, "\(title) did not answer the check of the access token: \(error.message)",
          hint: "check the network path to \(endpoint.url), then run carillon doctor again")
      ]
    }
    let answer = service.tools.answer(response)
    if answer.isAccepted {
      return [.healthy(.credential, subject, "\(title) accepts the access token (test without sending a message)")]
    }
    let text = "\(title) answered \(response.status)\(answer.reasonText.map { " " + $0 } ?? ""): \(answer.meaning)"
    // These answers do not show whether the service accepts the credential.
    guard response.status < 500, response.status != 429 else {
      return [.advice(.credential, subject, text, hint: answer.hint)]
    }
    return [.problem(.credential, subject, text, hint: answer.hint)]
  }
}
