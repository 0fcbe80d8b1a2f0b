import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore

/// Operations on devices in quarantine and on jobs of the dead list.
extension API {
  private static let maximumTokens = 500
  private static let maximumKeys = 500
  /// Longest excerpt of a job in a list, in bytes.
  private static let excerpt = 1024

  // MARK: Quarantine

  var quarantine: [APIOperation] {
    [
      APIOperation(
        name: "listQuarantine", method: "GET", path: "/quarantine", scope: .view,
        summary: "List devices in quarantine, in any order",
        parameters: [
          .init(name: "app", schema: OpenAPI.name, meaning: "Only devices that got a push of this app"),
          .init(name: "campaign", schema: OpenAPI.name, meaning: "Only devices that this campaign quarantined"),
          OpenAPI.limit(most: 500), OpenAPI.cursor,
        ],
        answers: [
          .init(
            status: 200, meaning: "A page. It may have more or fewer elements than requested",
            schema: OpenAPI.page("devices", of: "Quarantined"))
        ]
      ) { call in
        let limit = try call.number("limit", in: 1...500, default: 50)
        let (app, campaign) = (call.query("app"), call.query("campaign"))
        let page = try await stores.reading().results.quarantined(from: call.query("cursor"), count: limit) {
          (app ?? $0.app) == $0.app && (campaign ?? $0.campaign) == $0.campaign
        }
        return .object { json in
          json.array("devices", page.elements) { QuarantineReport($1).write(to: &$0) }
          json.member("next", page.next)
        }
      },
      change("release", .quarantineRelease, "Release devices from quarantine") { try await $0.results.release($1) },
      change(
        "purge", .quarantinePurge, "Remove devices and add their tokens to the feedback list. This can't be undone"
      ) {
        try await $0.results.purge($1)
      },
    ]
  }

  private func change(
    _ verb: String, _ action: AuditAction, _ summary: String,
    _ body: @escaping @Sendable (CampaignStore, [QuarantinedDevice]) async throws -> [Bool]
  ) -> APIOperation {
    APIOperation(
      name: verb + "Quarantined", method: "POST", path: "/quarantine/\(verb)", scope: .operate,
      effect: .changes([action]), summary: summary,
      body: .init(schema: OpenAPI.ref("Selection"), limit: Self.listLimit),
      answers: [.init(status: 200, meaning: "The number of changed devices", schema: OpenAPI.ref("Changed"))]
    ) { call in
      let fields = try await compute(for: call) {
        try RequestFields(call.request.body, known: ["tokens", "service", "app", "campaign", "all"])
      }
      let (app, campaign) = (try fields.string("app"), try fields.string("campaign"))
      let (texts, isAll) = (try fields.strings("tokens", limit: Self.maximumTokens), try fields.flag("all"))
      guard [texts != nil, app != nil || campaign != nil, isAll].count(where: { $0 }) == 1 else {
        throw CommandError(.input, "the selection must be either tokens, or app or campaign or both, or all: true")
      }
      let store = try await stores.changing()
      var count = 0
      if let texts {
        let service = try PushServices.known.named(fields.string("service"))
        let tokens = try texts.map { try service.token(argument: $0) }
        let known = try await store.results.quarantined(tokens, of: service).compactMap { $0 }
        count = try await body(store, known).count { $0 }
      } else {
        try await QuarantineCommand.forEachPage(of: app, campaign, store, configuration) { page in
          count += try await body(store, page).count { $0 }
          return true
        }
      }
      await AuditTrail(store).record(
        action, app: app, campaign: campaign, isAll: isAll, count, by: Self.actor(call))
      return .object { $0.member("devices", count) }
    }
  }

  // MARK: Dead jobs

  var dead: [APIOperation] {
    [
      APIOperation(
        name: "listDead", method: "GET", path: "/dead", scope: .view,
        summary: "List jobs and events that could not be run, newest first, with the reason and the first kilobyte",
        parameters: [OpenAPI.limit(most: 200), OpenAPI.cursor],
        answers: [.init(status: 200, meaning: "A page", schema: OpenAPI.page("jobs", of: "Dead"))]
      ) { call in
        let limit = try call.number("limit", in: 1...200, default: 50)
        let page = try await stores.reading().queue.deadJobs(from: call.query("cursor"), count: limit)
        return .object { json in
          json.array("jobs", page.elements) { DeadJobReport($1, limit: Self.excerpt).write(to: &$0) }
          json.member("next", page.next)
        }
      },
      APIOperation(
        name: "showDead", method: "GET", path: "/dead/{key}", scope: .view,
        summary: "Get a job that could not be run, with its whole stored text",
        answers: [.init(status: 200, meaning: "The job", schema: OpenAPI.ref("Dead"))]
      ) { call in .json(DeadJobReport(try await stores.reading().queue.deadJob(call.parameter("key"))).json) },
      APIOperation(
        name: "retryOneDead", method: "POST", path: "/dead/{key}/retry", scope: .operate,
        effect: .changes([.deadRetry]),
        summary: "Move a job from the dead list back to the queue. A job that would fail again stays on the list",
        body: .init(schema: #"{"type":"object"}"#, limit: Self.smallLimit, isRequired: false),
        answers: [.init(status: 200, meaning: "The job is in the queue", schema: OpenAPI.ref("Key"))]
      ) { call in try await one(call, .deadRetry) { try await retry($1, in: $0, for: call) } },
      APIOperation(
        name: "dropOneDead", method: "DELETE", path: "/dead/{key}", scope: .operate,
        effect: .changes([.deadDrop]),
        summary: "Delete a job from the dead list. This can't be undone",
        answers: [.init(status: 200, meaning: "The job is deleted", schema: OpenAPI.ref("Key"))]
      ) { call in try await one(call, .deadDrop) { try await $0.queue.dropDeadJob($1) } },
      many(
        "retry", .deadRetry,
        "Move jobs from the dead list back to the queue. Jobs that would fail again stay on the list"
      ) { try await retry($1, in: $0, for: $2) },
      many("drop", .deadDrop, "Delete jobs from the dead list. This can't be undone") { store, key, _ in
        try await store.queue.dropDeadJob(key)
      },
    ]
  }

  private func retry(_ key: String, in store: CampaignStore, for call: RouteCall) async throws {
    _ = try await DeadJobRetry(store: store, apps: apps).retry(key) { read in try await compute(for: call, read) }
  }

  private func one(
    _ call: RouteCall, _ action: AuditAction, _ body: (CampaignStore, String) async throws -> Void
  ) async throws -> HTTPResponse {
    let (key, store) = (call.parameter("key"), try await stores.reading())
    try await body(store, key)
    await AuditTrail(store).record(action, dead: [key], by: Self.actor(call))
    return .object { $0.member("key", key) }
  }

  private func many(
    _ verb: String, _ action: AuditAction, _ summary: String,
    _ body: @escaping @Sendable (CampaignStore, String, RouteCall) async throws -> Void
  ) -> APIOperation {
    APIOperation(
      name: verb + "Dead", method: "POST", path: "/dead/\(verb)", scope: .operate, effect: .changes([action]),
      summary: summary,
      body: .init(schema: OpenAPI.ref("Keys"), limit: Self.smallLimit),
      answers: [
        .init(
          status: 200, meaning: "The keys that succeeded, and the others with their errors",
          schema: OpenAPI.ref("DeadJobsResult"))
      ]
    ) { call in
      let keys = try RequestFields(call.request.body, known: ["keys"]).requiredStrings("keys", limit: Self.maximumKeys)
      let store = try await stores.reading()
      var done: [String] = []
      var failed: [(key: String, error: CommandError)] = []
      for key in keys {
        do {
          try await body(store, key, call)
          done.append(key)
        } catch {
          let error = CommandError(error)
          // The job is not the cause of these errors, so all other jobs would fail in the same way.
          if error.code == .unreachable || error.code == .defect { throw error }
          failed.append((key, error))
        }
      }
      await AuditTrail(store).record(action, dead: done, by: Self.actor(call))
      return .object { json in
        json.array("done", done) { $0.value($1) }
        json.objects("failed", failed) { json, failure in
          json.member("key", failure.key)
          json.member("code", failure.error.code.rawValue)
          json.member("message", failure.error.message)
          json.member("hint", failure.error.hint)
        }
      }
    }
  }
}
