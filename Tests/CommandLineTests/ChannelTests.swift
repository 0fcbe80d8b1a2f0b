import APNs
import Foundation
import PushCore
import TestSupport
import Testing

@testable import carillon

struct ChannelTests {
  private let id = UUID()

  private func lines(_ request: APNsExchange.Request) -> [String] {
    ["\(request.method) \(request.path)"] + request.headers.map { "\($0.name): \($0.value)" }
      + [String(decoding: request.body ?? [], as: UTF8.self)]
  }

  @Test func requestsAreThoseOfApplesPage() {
    let request = "apns-request-id: \(id.uuidString.lowercased())"
    let cases: [(ChannelRequest, [String])] = [
      (
        .create(stores: true),
        [
          "POST /1/apps/com.example.news/channels", request, "authorization: bearer t",
          "content-type: application/json",
          #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#,
        ]
      ),
      (.list, ["GET /1/apps/com.example.news/all-channels", request, "authorization: bearer t", ""]),
      (
        .show(id: "a+b="),
        [
          "GET /1/apps/com.example.news/channels", request, "authorization: bearer t", "apns-channel-id: a+b=", "",
        ]
      ),
      (
        .delete(id: "a+b="),
        [
          "DELETE /1/apps/com.example.news/channels", request, "authorization: bearer t", "apns-channel-id: a+b=", "",
        ]
      ),
    ]
    for (call, expected) in cases {
      #expect(lines(call.request(bundle: "com.example.news", authorization: "t", id: id)) == expected)
    }
    let certificate = ChannelRequest.list.request(bundle: "b", authorization: nil, id: id)
    #expect(certificate.headers.map(\.name) == ["apns-request-id"] && certificate.body == nil)
    #expect(
      String(
        decoding: ChannelRequest.create(stores: false).request(bundle: "b", authorization: nil, id: id).body ?? [],
        as: UTF8.self
      ).contains(":0,"))
  }

  private func response(_ status: UInt16, _ body: String = "", id: String? = nil) -> APNsExchange.Response {
    .init(status: status, headers: id.map { [.init("apns-channel-id", $0)] } ?? [], body: Array(body.utf8))
  }

  @Test func answersAreRead() throws {
    #expect(try ChannelRequest.create(stores: false).result(of: response(201, id: "x=")) == .created(id: "x="))
    #expect(try ChannelRequest.list.result(of: response(200, #"{"channels":["a","b="]}"#)) == .channels(["a", "b="]))
    let body = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    #expect(try ChannelRequest.show(id: "a").result(of: response(200, body)) == .channel(stores: true))
    #expect(try ChannelRequest.delete(id: "a").result(of: response(204)) == .deleted)
  }

  @Test func answersThatAreNoneAreErrors() {
    let calls: [(ChannelRequest, APNsExchange.Response)] = [
      (.create(stores: true), response(201)), (.list, response(200)), (.list, response(200, "{}")),
      (.show(id: "a"), response(200, "[]")), (.show(id: "a"), response(200, #"{"message-storage-policy":"1"}"#)),
    ]
    for (call, answer) in calls {
      let error = #expect(throws: CommandError.self) { try call.result(of: answer) }
      #expect(error?.code == .failed)
    }
  }

  @Test func refusalsAreExplained() {
    let cases: [(UInt16, String, CommandError.Code, String)] = [
      (400, "ChannelNotRegistered", .notFound, "no such channel"), (400, "FeatureNotEnabled", .failed, "not enabled"),
      (400, "CannotCreateChannelConfig", .failed, "10,000"), (403, "TopicMismatch", .failed, "bundle id"),
      (503, "Service Unavailable", .failed, "overloaded"),
    ]
    for (status, reason, code, says) in cases {
      let error = #expect(throws: CommandError.self) {
        try ChannelRequest.show(id: "a").result(of: response(status, #"{"reason":"\#(reason)"}"#))
      }
      #expect(error?.code == code && error?.message.contains(says) == true, "\(error?.message ?? "")")
    }
  }

  @Test func serverThatIsNotThereIsUnreachable() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_APPS_NEWS_CHANNEL_ENDPOINT"] = "https://127.0.0.1:1"
    let output = try await world.run("channel", "list", "--app", "news", "--json")
    #expect(output.exit == .status(69))
    let error = try #require(try JSONObject(output.standardError).object("error"))
    #expect(error.text("message")?.hasPrefix("https://127.0.0.1:1: ") == true)
    let bad = try await world.run("channel", "show", "--app", "news", "a b")
    #expect(bad.exit == .status(65) && bad.standardError.contains("ID: is not Base64"))
    #expect(try await world.run("channel", "create", "--app", "nwes").exit == .status(65))
  }
}
