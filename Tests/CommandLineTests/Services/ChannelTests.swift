import PushTransport
import APNs
import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

struct ChannelTests {
  private let id = UUID()

  private func lines(_ request: HTTPExchange.Request) -> [String] {
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
      expect(lines(call.request(bundle: "com.example.news", authorization: "t", id: id)), is: expected)
    }
    let certificate = ChannelRequest.list.request(bundle: "b", authorization: nil, id: id)
    expect(certificate.headers.map(\.name) == ["apns-request-id"] && certificate.body == nil)
    expect(
      String(
        decoding: ChannelRequest.create(stores: false).request(bundle: "b", authorization: nil, id: id).body ?? [],
        as: UTF8.self
      ).contains(":0,"))
  }

  private func response(_ status: UInt16, _ body: String = "", id: String? = nil) -> HTTPExchange.Response {
    .init(status: status, headers: id.map { [.init("apns-channel-id", $0)] } ?? [], body: Array(body.utf8))
  }

  @Test func answersAreRead() throws {
    expect(try ChannelRequest.create(stores: false).result(of: response(201, id: "x=")), is: .created(id: "x="))
    expect(try ChannelRequest.list.result(of: response(200, #"{"channels":["a","b="]}"#)), is: .channels(["a", "b="]))
    let body = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    expect(try ChannelRequest.show(id: "a").result(of: response(200, body)), is: .channel(stores: true))
    expect(try ChannelRequest.delete(id: "a").result(of: response(204)), is: .deleted)
  }

  @Test func invalidAnswersAreErrors() {
    let calls: [(ChannelRequest, HTTPExchange.Response)] = [
      (.create(stores: true), response(201)), (.list, response(200)), (.list, response(200, "{}")),
      (.show(id: "a"), response(200, "[]")), (.show(id: "a"), response(200, #"{"message-storage-policy":"1"}"#)),
    ]
    for (call, answer) in calls {
      let error = #expect(throws: CommandError.self) { try call.result(of: answer) }
      expect(error?.code, is: .failed)
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
      expect(error?.code == code && error?.message.contains(says) == true, "\(error?.message ?? "")")
    }
  }

  // MARK: Over TLS

  /// Creates a world whose app uses a channel server with these answers.
  private func world(_ answers: [[String]]) async throws -> (CarillonWorld, CannedServer) {
    var world = try await CarillonWorld()
    let server = try await CannedServer.start(answers)
    world.environment["CARILLON_APPS_NEWS_APNS_CHANNEL_ENDPOINT"] = "https://127.0.0.1:\(server.port)"
    world.environment["CARILLON_APPS_NEWS_APNS_TRUST_ROOTS"] = try world.folder.write("roots.pem", server.authorityPEM)
    return (world, server)
  }

  @Test func channelsAreMadeListedShownAndDeleted() async throws {
    let (world, server) = try await world([
      ["HTTP/1.1 201 Created", "apns-channel-id: a+b="], ["HTTP/1.1 200 OK", #"{"channels":["a+b=","c"]}"#],
      ["HTTP/1.1 200 OK", #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#],
      ["HTTP/1.1 204 No Content"], ["HTTP/1.1 400 Bad Request", #"{"reason":"ChannelNotRegistered"}"#],
    ])
    expect(try await world.succeed("channel", "create", "--app", "news", "--store"), is: "a+b=\n")
    expect(try await world.succeed("channel", "list", "--app", "news"), is: "a+b=\nc\n")
    let shown = try JSONObject(await world.succeed("channel", "show", "--app", "news", "a+b=", "--json"))
    expect(shown.text("id") == "a+b=" && shown.bool("stores") == true)
    expect(try await world.succeed("channel", "delete", "--app", "news", "a+b="), is: "deleted a+b=\n")
    let gone = try await world.run("channel", "delete", "--app", "news", "a+b=")
    expect(gone.exit == .status(1) && gone.standardError.contains("ChannelNotRegistered"))

    let asked = try await server.asked()
    let lines = asked.compactMap { $0.split(separator: "\r\n").first.map(String.init) }
    expect(
      lines,
      is: [
        "POST /1/apps/com.example.news/channels HTTP/1.1", "GET /1/apps/com.example.news/all-channels HTTP/1.1",
        "GET /1/apps/com.example.news/channels HTTP/1.1", "DELETE /1/apps/com.example.news/channels HTTP/1.1",
        "DELETE /1/apps/com.example.news/channels HTTP/1.1",
      ])
    expect(asked.allSatisfy { $0.contains("\r\nauthorization: bearer eyJ") && $0.contains("\r\napns-request-id: ") })
    expect(asked[0].hasSuffix(#"\#r\#n\#r\#n{"message-storage-policy":1,"push-type":"LiveActivity"}"#))
    expect(asked[2...].allSatisfy { $0.contains("\r\napns-channel-id: a+b=\r\n") })
  }

  @Test func missingServerIsUnreachable() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_APPS_NEWS_APNS_CHANNEL_ENDPOINT"] = "https://127.0.0.1:1"
    let output = try await world.run("channel", "list", "--app", "news", "--json")
    expect(output.exit, is: .status(69))
    let error = try #require(try JSONObject(output.standardError).object("error"))
    expect(error.text("message")?.hasPrefix("https://127.0.0.1:1: "), is: true)
    let bad = try await world.run("channel", "show", "--app", "news", "a b")
    expect(bad.exit == .status(65) && bad.standardError.contains("ID: is not Base64"))
    expect(try await world.run("channel", "create", "--app", "nwes").exit, is: .status(65))
  }
}
