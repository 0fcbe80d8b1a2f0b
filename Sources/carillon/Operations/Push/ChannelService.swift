import APNs
import CommandSupport
import Foundation
import PushCore
import PushTransport
import PushWorker
import ServiceTools

/// Sends requests of channel management for one app.
struct ChannelService {
  private let channel: ServiceChannel
  private let endpoint: PushEndpoint
  private let bundle: String

  /// - Throws: ``CommandError`` for an app that the configuration doesn't have, or a credential that can't be read.
  init(app: String, _ configuration: CarillonConfiguration) throws {
    try configuration.checkApp(app)
    guard let channel = try AppChannels.make(configuration.apps.filter { $0.key == app })[app] else {
      throw CommandError(.defect, "no channel for app \(app)")
    }
    guard let service = configuration.apps[app]?["apns"], let settings = service.settings as? APNsSettings,
      let channel = channel["apns"]
    else {
      throw CommandError(
        .usage, "app \(app) does not use APNs, and no other push service has broadcast channels",
        hint: "choose an app that uses APNs")
    }
    self.channel = channel
    bundle = settings.topic
    endpoint = PushEndpoint(url: settings.channelURL, trustRoots: channel.endpoint.trustRoots)
  }

  /// Sends a request and returns its result.
  func perform(_ call: ChannelRequest) async throws -> ChannelRequest.Result {
    let authorization = channel.credential.authorization()
    var token: String?
    if case .token(let provided)? = authorization { token = provided.text }
    let request = call.request(bundle: bundle, authorization: token, id: UUID())
    let response: HTTPExchange.Response
    do {
      response = try await HTTPExchange.perform(request, at: endpoint, identity: authorization?.identity)
    } catch {
      throw CommandError(
        .unreachable,
        "\(endpoint.url): \(error.message)" + (error.isInDoubt ? "; APNs may have executed the request" : ""),
        hint: "check the network, a firewall (ports 2195 and 2196), and the app's channelEndpoint and trustRoots")
    }
    return try call.result(of: response)
  }
}
