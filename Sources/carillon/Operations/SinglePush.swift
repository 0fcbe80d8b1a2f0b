import PushTransport
import APNs
import CommandSupport
import Foundation
import PushCore
import PushWorker

/// One push over a connection of its own, and everything of it that can be shown.
struct SinglePush {
  /// What became of it.
  struct Outcome {
    var response: HTTPExchange.Response
    /// From the submission to the answer, connecting included.
    var duration: Duration
  }

  let channel: AppChannel
  let headers: PushHeaders
  let token: DeviceToken
  let payload: [UInt8]
  /// `apns-id`: by it the push can be found in Apple's console.
  let id: UUID

  /// The address that the request goes to, with as much of the token as may be seen.
  var url: String { "\(channel.endpoint.url)/3/device/\(APNsService().shortText(of: token))" }

  /// The headers of the request in their order; the provider token is shortened, as it is a secret for an hour.
  var shownHeaders: [HTTPExchange.Header] {
    requestHeaders.map { header in
      guard header.name == "authorization" else { return header }
      return .init(header.name, "\(header.value.prefix(19))… (\(header.value.utf8.count) characters)")
    } + [.init("content-length", String(payload.count))]
  }

  private var requestHeaders: [HTTPExchange.Header] {
    var lines = headers.lines(id: id)
    if case .token(let token)? = channel.credential.authorization() {
      lines.insert(.init("authorization", "bearer \(token.text)"), at: 1)
    }
    return lines
  }

  /// Sends it.
  ///
  /// - Throws: ``CommandError`` `unreachable` when no answer came.
  func send() async throws -> Outcome {
    let start = ContinuousClock.now
    do {
      let response = try await HTTPExchange.perform(
        .init(
          method: "POST", path: "/3/device/\(APNsService().text(of: token))", headers: requestHeaders, body: payload),
        at: channel.endpoint, identity: channel.credential.authorization()?.identity)
      return Outcome(response: response, duration: ContinuousClock.now - start)
    } catch {
      throw CommandError(
        .unreachable,
        "\(channel.endpoint.url): \(error.message)" + (error.isInDoubt ? "; APNs may have taken the push" : ""),
        hint: "check the network, a firewall (port 443 or 2197), and the app's endpoint and trustRoots")
    }
  }
}

extension PushHeaders {
  /// The headers of a push's request in their order, but for what shows who sends it.
  func lines(id: UUID) -> [HTTPExchange.Header] {
    var lines: [HTTPExchange.Header] = [
      .init("apns-id", id.uuidString.lowercased()), .init("apns-topic", topic),
      .init("apns-push-type", pushType.rawValue), .init("apns-priority", String(priority)),
    ]
    if let expiration { lines.append(.init("apns-expiration", String(expiration))) }
    if let collapseID { lines.append(.init("apns-collapse-id", collapseID)) }
    return lines
  }
}
