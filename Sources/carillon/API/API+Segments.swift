import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore

/// Operations on segments.
extension API {
  /// Maximum number of users in a request.
  private static let maximumUsers = 10_000

  var segments: [APIOperation] {
    [
      APIOperation(
        name: "listSegments", method: "GET", path: "/segments", scope: .view,
        summary: "List segments by name with their numbers of users. Users without devices count too",
        parameters: [OpenAPI.limit(most: 100), OpenAPI.cursor],
        answers: [.init(status: 200, meaning: "A page", schema: OpenAPI.page("segments", of: "Segment"))]
      ) { call in
        let store = try await stores.reading()
        let limit = try call.number("limit", in: 1...100, default: 50)
        let names = try await store.audiences.segmentNames().filter { $0 > call.query("cursor") ?? "" }
        var sizes: [(name: String, users: Int)] = []
        for name in names.prefix(limit) { sizes.append((name, try await store.audiences.size(ofSegment: name))) }
        return .object { json in
          json.objects("segments", sizes) { json, segment in
            json.member("segment", segment.name)
            json.member("users", segment.users)
          }
          json.member("next", names.count > limit ? sizes.last?.name : nil)
        }
      },
      APIOperation(
        name: "countSegment", method: "GET", path: "/audience", scope: .view,
        summary: "Count the users and devices that an expression matches",
        parameters: [
          .init(
            name: "expression", schema: #"{"type":"string","minLength":1}"#,
            meaning: "An expression, such as vip & (sports | news) & !churned",
            isRequired: true),
          .init(name: "where", schema: #"{"type":"string"}"#, meaning: "A condition on devices and attributes"),
        ],
        answers: [.init(status: 200, meaning: "The counts", schema: OpenAPI.ref("Count"))]
      ) { call in
        let store = try await stores.reading()
        return try await compute(in: \.counts, for: call) {
          let expression = try AudienceExpression(parsing: call.query("expression") ?? "")
          let predicate = try call.query("where").map(Self.predicate)
          let count = try await store.audiences.count(expression, where: predicate)
          return .object { json in
            json.member("expression", expression.description)
            json.member("users", count.users)
            json.member("devices", count.devices)
          }
        }
      },
      APIOperation(
        name: "addToSegment", method: "POST", path: "/segments/{name}/add", scope: .submit,
        effect: .changes([.segmentAdd]),
        summary: "Add users to a segment. Creates the segment if needed",
        body: .init(schema: OpenAPI.ref("Users"), limit: Self.listLimit),
        answers: [.init(status: 200, meaning: "The users are in the segment", schema: OpenAPI.ref("Segment"))]
      ) { call in
        let (name, users) = (try SegmentName.read(call.parameter("name")), try await users(call))
        let store = try await stores.changing()
        _ = try await UserListChange(store: store, actor: Self.actor(call)).add(users, to: name)
        return .object { json in
          json.member("segment", name)
          json.member("users", users.count)
        }
      },
      APIOperation(
        name: "removeFromSegment", method: "POST", path: "/segments/{name}/remove", scope: .submit,
        effect: .changes([.segmentRemove]),
        summary: "Remove users from a segment. The segment stays, even if it is empty",
        body: .init(schema: OpenAPI.ref("Users"), limit: Self.listLimit),
        answers: [.init(status: 200, meaning: "The number of removed users", schema: OpenAPI.ref("Segment"))]
      ) { call in
        let (name, users) = (Identifier.trimmed(call.parameter("name")), try await users(call))
        let store = try await stores.changing()
        let removed = try await UserListChange(store: store, actor: Self.actor(call)).remove(users, from: name)
        return .object { json in
          json.member("segment", name)
          json.member("users", removed)
        }
      },
    ]
  }

  private func users(_ call: RouteCall) async throws -> [String] {
    try await compute(for: call) {
      try RequestFields(call.request.body, known: ["users"]).users("users", limit: Self.maximumUsers)
    }
  }

  private static func predicate(_ text: String) throws -> DevicePredicate {
    do {
      return try DevicePredicate(parsing: text)
    } catch {
      throw CommandError(
        .input, "where, \(error)", hint: "a condition looks like: locale = 'en' & appVersion >= '5.2'")
    }
  }
}
