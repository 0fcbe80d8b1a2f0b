import Admin
import CampaignStore
import CommandSupport
import Foundation
import HTTPServer
import PushCore

/// Devices and users.
extension API {
  var devices: [APIOperation] {
    [
      APIOperation(
        name: "registerDevice", method: "POST", path: "/devices", scope: .submit,
        summary:
          "Registers a device, or moves it to another user; members that are no column are attributes of the user",
        body: .init(schema: OpenAPI.ref("Device"), limit: DeviceRowReader.maximumRecord),
        answers: [
          .init(
            status: 200, meaning: "It is the user's", schema: OpenAPI.ref("Registered"),
            links: APIOperation.Link.to(["showUser", "forgetUser"], "user")
              + APIOperation.Link.to(["unregisterDevice"], "token"))
        ], run: register),
      APIOperation(
        name: "unregisterDevice", method: "DELETE", path: "/devices/{token}", scope: .submit,
        summary: "Removes a device, whoever has it",
        parameters: [
          .init(name: "service", schema: #"{"type":"string"}"#, meaning: "Its push service; apns unless given")
        ],
        answers: [.init(status: 200, meaning: "It is gone", schema: OpenAPI.ref("Token"))], run: unregister),
      APIOperation(
        name: "showUser", method: "GET", path: "/users/{user}", scope: .view,
        summary: "A user with attributes, segments and devices",
        answers: [.init(status: 200, meaning: "The user", schema: OpenAPI.ref("User"))]
      ) { call in .json(try await UserReport(user(call), in: stores.reading()).json) },
      APIOperation(
        name: "forgetUser", method: "DELETE", path: "/users/{user}", scope: .admin,
        summary: "Removes everything of a user everywhere. There is no way back; doing it again does no harm",
        answers: [.init(status: 200, meaning: "What there was", schema: OpenAPI.ref("Forgotten"))]
      ) { call in
        let (user, store) = (try user(call), try await stores.changing())
        let forgotten = try await store.erasure.forget(user)
        await AuditTrail(store).note(forgotten: forgotten, by: Self.actor(call))
        return .json(ForgottenReport(user: user, forgotten: forgotten).json)
      },
    ]
  }

  /// The user of the path.
  private func user(_ call: RouteCall) throws -> String {
    try UserArgument.read(call.parameter("user"))
  }

  /// The same checks as for a row of a file.
  private func register(_ call: RouteCall) async throws -> HTTPResponse {
    let body = call.request.body.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
    let now = Int(Date.now.timeIntervalSince1970 * 1000)
    var reader = DeviceRowReader(format: .ndjson, DeviceVocabulary(services: .known, now: now))
    let rows = try reader.read(body) + reader.finish()
    guard let first = rows.first else { throw CommandError(.input, "the body is empty", hint: "it is a JSON object") }
    var row: DeviceRow
    switch first {
    case .success(let read): row = read
    case .failure(let error): throw CommandError(.input, error.message)
    }
    if let app = row.app { try configuration.checkApp(app) }
    let store = try await stores.changing()
    let service = try PushServices.known.named(row.service)
    // Redis' clock, as everywhere: registrations of several machines are compared with each other.
    if row.registeredAt == nil { row.registeredAt = try await store.time() / 1000 }
    guard try await store.registry.register([DeviceRegistration(row, app: "")]) == [true] else {
      throw CommandError(
        .failed, "a newer registration of the token for another user stands",
        hint: "leave registeredAt out to register it as of now")
    }
    return .object { json in
      json.member("user", row.user)
      json.member("token", service.text(of: row.token))
      json.member("registeredAt", row.registeredAt.map(Timestamp.format(milliseconds:)))
      if let refusal = row.refusal { json.member("refused", refusal) }
    }
  }

  private func unregister(_ call: RouteCall) async throws -> HTTPResponse {
    let service = try PushServices.known.named(call.query("service"))
    let token = try service.token(argument: call.parameter("token"))
    let store = try await stores.changing()
    guard try await store.registry.unregister([token], of: service, at: store.time() / 1000) == [true] else {
      throw CommandError(.notFound, "nobody has this token", hint: "it may have been pruned already")
    }
    return .object { $0.member("token", service.text(of: token)) }
  }
}
