import CommandSupport
import PushCore
import PushTransport
import PushWorker
import ServiceTools

/// One push over its own connection, with all details that can be shown to a user.
struct SinglePush {
  /// Result of the push.
  struct Outcome {
    var response: HTTPExchange.Response
    /// Time from the start of the connection to the answer.
    var duration: Duration
  }

  let tools: any PushServiceTools
  let channel: ServiceChannel
  let prepared: PreparedPush

  /// URL of the request, with a shortened token.
  var url: String { channel.endpoint.url + prepared.shownPath }

  /// Headers of the request in their order. The bearer token is shortened, because it is a secret.
  var shownHeaders: [HTTPExchange.Header] {
    requestHeaders.map { header in
      guard header.name == "authorization" else { return header }
      return .init(header.name, "\(header.value.prefix(19))… (\(header.value.utf8.count) characters)")
    } + [.init("content-length", String(prepared.body.count))]
  }

  private var requestHeaders: [HTTPExchange.Header] {
    guard case .token(let token)? = channel.credential.authorization() else { return prepared.headers }
    return prepared.headers(authorization: "bearer \(token.text)")
  }

  /// Sends the push.
  ///
  /// - Throws: ``CommandError`` `unreachable` if no answer arrives, or if the server of the credential issues no token;
  ///   `configuration` if the credential is refused.
  func send() async throws -> Outcome {
    // The credential may first have to get a token from a server.
    let authorization = await channel.credential.firstAuthorization()
    if authorization == nil, let problem = channel.credential.problem {
      // If the credential is not stopped, it is only delayed and waits for its token server.
      guard channel.credential.stopped == nil else {
        throw CommandError(.configuration, "\(tools.service.title): \(problem)")
      }
      throw CommandError(
        .unreachable, "\(tools.service.title): no access token: \(problem)",
        hint: "carillon doctor tests the connection to the server of access tokens")
    }
    let start = ContinuousClock.now
    do {
      let response = try await HTTPExchange.perform(
        .init(method: "POST", path: prepared.path, headers: requestHeaders, body: prepared.body),
        at: channel.endpoint, identity: authorization?.identity)
      return Outcome(response: response, duration: ContinuousClock.now - start)
    } catch {
      let doubt = error.isInDoubt ? "; \(tools.service.title) may have accepted the push" : ""
      throw CommandError(
        .unreachable, "\(channel.endpoint.url): \(error.message)\(doubt)",
        hint: "check the network, a firewall (port \(tools.ports)), and the app's endpoint and trustRoots")
    }
  }
}
