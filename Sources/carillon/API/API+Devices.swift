import Admin
import CampaignStore
import CommandSupport
import Foundation
import HTTPServer
import PushCore

/// Operations on devices and users.
extension API {
  var devices: [APIOperation] {
    [
      APIOperation(
        name: "registerDevice", method: "POST", path: "/devices", scope: .submit,
        effect: .unrecorded,
        summary:
          "Register a device, or move it to another user. Members that are not columns are attributes of the user",
        body: .init(schema: OpenAPI.ref("Device"), limit: DeviceRowReader.maximumRecord),
        answers: [
          .init(
            status: 200, meaning: "The device is registered", schema: OpenAPI.ref("Registered"),
            links: APIOperation.Link.to(["showUser", "eraseUser"], "user")
              + APIOperation.Link.to(["unregisterDevice"], "token"))
        ], run: register),
      APIOperation(
        name: "unregisterDevice", method: "DELETE", path: "/devices/{token}", scope: .submit,
        effect: .unrecorded,
        summary: "Remove a device, whatever its user",
        parameters: [
          .init(name: "service", schema: #"{"type":"string"}"#, meaning: "The push service (default: apns)")
        ],
        answers: [.init(status: 200, meaning: "The device is removed", schema: OpenAPI.ref("Token"))], run: unregister),
      APIOperation(
        name: "showUser", method: "GET", path: "/users/{user}", scope: .view,
        summary: "Get a user with attributes, segments and devices",
        answers: [.init(status: 200, meaning: "The user", schema: OpenAPI.ref("User"))]
      ) { call in .json(try await UserReport(user(call), in: stores.reading()).json) },
      APIOperation(
        name: "eraseUser", method: "DELETE", path: "/users/{user}", scope: .admin,
        effect: .changes([.userErase]),
        summary: "Erase all data of a user. This can't be undone; repeating it is safe",
        answers: [.init(status: 200, meaning: "The erased data", schema: OpenAPI.ref("Erasure"))]
      ) { call in
        let (user, store) = (try user(call), try await stores.changing())
        let erased = try await store.erasure.erase(user)
        await AuditTrail(store).record(erased: erased, by: Self.actor(call))
        return .json(ErasureReport(user: user, erased: erased).json)
      },
    ]
  }

  /// Returns the user in the path.
  private func user(_ call: RouteCall) throws -> String {
    try UserArgument.read(call.parameter("user"))
  }

  /// Registers the device of a request, with the same checks as for a row of a file.
  private func register(_ call: RouteCall) async throws -> HTTPResponse {
    let body = call.request.body.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
    let now = Int(Date.now.timeIntervalSince1970 * 1000)
    var reader = DeviceRowReader(
      format: .ndjson,
      DeviceVocabulary(
        services: .known(apps: configuration.appServices), apps: Set(configuration.apps.keys), now: now))
    let rows = try reader.read(body) + reader.finish()
    guard let first = rows.first else { throw CommandError(.input, "the body is empty", hint: "send a JSON object") }
    var row: DeviceRow
    switch first {
    case .success(let read): row = read
    case .failure(let error): throw CommandError(.input, error.message)
    }
    let store = try await stores.changing()
    let service = try PushServices.known.named(row.service)
    // Use the clock of Redis, because the times of registrations from several machines are compared.
    if row.registeredAt == nil { row.registeredAt = try await store.time() / 1000 }
    guard try await store.registry.register([DeviceRegistration(row, app: "")]) == [true] else {
      throw CommandError(
        .failed, "the token has a newer registration, for another user",
        hint: "omit registeredAt to register the device as of now")
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
      throw CommandError(.notFound, "no device has this token", hint: "it may have been pruned already")
    }
    return .object { $0.member("token", service.text(of: token)) }
  }
}
