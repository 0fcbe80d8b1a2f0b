import PushTransport
import APNs
import CommandSupport
import Foundation
import PushCore

/// A request of channel management, and its result.
///
/// Source: Apple, "Sending channel management requests to APNs". The id of a channel is in a header, never in the path.
/// The paths contain the bundle id without a suffix.
enum ChannelRequest: Equatable {
  /// Creates a channel. With `stores`, APNs stores the channel's latest message for up to 8 hours for devices that are
  /// offline.
  case create(stores: Bool)
  case list
  case show(id: String)
  case delete(id: String)

  /// Result of a request.
  enum Result: Equatable {
    /// Id of the new channel.
    case created(id: String)
    case channels([String])
    case channel(stores: Bool)
    case deleted
  }

  /// Returns the request for an app with this bundle id.
  ///
  /// - Parameters:
  ///   - authorization: the provider token; `nil` with a certificate.
  ///   - id: the value of `apns-request-id`, by which Apple can find the request.
  func request(bundle: String, authorization: String?, id: UUID) -> HTTPExchange.Request {
    var headers: [HTTPExchange.Header] = [.init("apns-request-id", id.uuidString.lowercased())]
    if let authorization { headers.append(.init("authorization", "bearer \(authorization)")) }
    switch self {
    case .create(let stores):
      let body = #"{"message-storage-policy":\#(stores ? 1 : 0),"push-type":"LiveActivity"}"#
      headers.append(.init("content-type", "application/json"))
      return .init(method: "POST", path: "/1/apps/\(bundle)/channels", headers: headers, body: Array(body.utf8))
    case .list:
      return .init(method: "GET", path: "/1/apps/\(bundle)/all-channels", headers: headers)
    case .show(let id):
      headers.append(.init("apns-channel-id", id))
      return .init(method: "GET", path: "/1/apps/\(bundle)/channels", headers: headers)
    case .delete(let id):
      headers.append(.init("apns-channel-id", id))
      return .init(method: "DELETE", path: "/1/apps/\(bundle)/channels", headers: headers)
    }
  }

  /// Returns the result that an answer contains.
  ///
  /// - Throws: ``CommandError``: `notFound` if the channel does not exist, `failed` for any other refusal.
  func result(of response: HTTPExchange.Response) throws(CommandError) -> Result {
    guard response.status / 100 == 2 else {
      let guide = ReasonGuide(status: response.status, reason: response.reason)
      let reason = response.reasonText.map { " " + $0 } ?? ""
      throw CommandError(
        response.reason == .channelNotRegistered ? .notFound : .failed,
        "APNs answered \(response.status)\(Excerpt.harmless(reason)): \(guide.meaning)", hint: guide.hint)
    }
    switch self {
    case .create:
      guard let id = response.header("apns-channel-id"), !id.isEmpty else {
        throw Self.invalidAnswer("contains no channel id")
      }
      return .created(id: id)
    case .delete: return .deleted
    case .list:
      guard case .array(let ids)? = try Self.members(of: response).first(where: { $0.name == "channels" })?.value.kind
      else { throw Self.invalidAnswer("contains no list of channels") }
      return .channels(
        ids.compactMap { id in
          if case .string(let text) = id.kind { text } else { nil }
        })
    case .show:
      let policy = try Self.members(of: response).first { $0.name == "message-storage-policy" }
      guard case .number(let text)? = policy?.value.kind else {
        throw Self.invalidAnswer("contains no message-storage-policy")
      }
      return .channel(stores: text == "1")
    }
  }

  private static func members(of response: HTTPExchange.Response) throws(CommandError) -> [JSONValue.Member] {
    guard let root = try? JSONValue(parsing: response.body, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind
    else { throw invalidAnswer("is not a JSON object") }
    return members
  }

  private static func invalidAnswer(_ what: String) -> CommandError {
    CommandError(
      .failed, "APNs' answer \(what)",
      hint: "check whether a proxy changes the traffic; if there is none, report this as a bug")
  }
}
