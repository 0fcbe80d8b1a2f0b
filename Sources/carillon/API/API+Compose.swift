import Admin
import CampaignStore
import CommandSupport
import Foundation
import HTTPServer
import PushCore
import ServiceTools

/// Operations for a user who writes a job: list the apps, check the job with the rules of `lint`, and preview its
/// pushes.
extension API {
  private static let user = APIOperation.Parameter(
    name: "user", schema: #"{"type":"string","minLength":1,"maxLength":256}"#, meaning: "The user's id",
    isRequired: true)

  var composing: [APIOperation] {
    [
      APIOperation(
        name: "listApps", method: "GET", path: "/apps", scope: .view, summary: "List the apps of the configuration",
        answers: [.init(status: 200, meaning: "The apps, sorted by name", schema: OpenAPI.ref("Apps"))]
      ) { _ in
        .object { json in
          json.array("apps", configuration.apps.sorted { $0.key < $1.key }) { json, app in
            json.beginObject()
            json.member("name", app.key)
            json.array("services", app.value.services) { json, service in
              json.beginObject()
              json.member("service", service.tools.service.name)
              service.settings.describe(to: &json)
              json.endObject()
            }
            json.member("approvalAbove", app.value.approvalAbove)
            json.endObject()
          }
        }
      },
      APIOperation(
        name: "lintCampaign", method: "POST", path: "/campaigns/lint", scope: .view,
        summary:
          "Check a job, a template or a payload with the rules of carillon lint. Templates of a job are read from the store",
        body: .init(schema: #"{"type":"object"}"#, limit: CampaignJob.maximumSize),
        answers: [.init(status: 200, meaning: "Sizes and findings", schema: OpenAPI.ref("Lint"))]
      ) { call in
        try await compute(for: call) { .json(try await lint(call.request.body).json) }
      },
      APIOperation(
        name: "previewCampaign", method: "POST", path: "/campaigns/preview", scope: .view,
        summary:
          "Preview the pushes of a job to each device of a user, byte for byte. The user need not be in the audience",
        parameters: [Self.user], body: .init(schema: OpenAPI.ref("Job"), limit: CampaignJob.maximumSize),
        answers: [
          .init(status: 200, meaning: "The pushes; none without a device for it", schema: OpenAPI.ref("Preview"))
        ]
      ) { call in
        let (user, store) = (try Self.user(call), try await stores.reading())
        return try await compute(for: call) {
          .json(try await PushPreview(job: call.request.body, user: user, in: store, configuration, apps).json)
        }
      },
      APIOperation(
        name: "previewOfCampaign", method: "GET", path: "/campaigns/{id}/preview", scope: .view,
        summary: "Preview the pushes of a campaign to each device of a user, before or after they are sent",
        parameters: [Self.user],
        answers: [
          .init(status: 200, meaning: "The pushes; none without a device for it", schema: OpenAPI.ref("Preview"))
        ]
      ) { call in
        let (user, store) = (try Self.user(call), try await stores.reading())
        return try await compute(for: call) {
          .json(try await PushPreview(id: call.parameter("id"), user: user, in: store, configuration, apps).json)
        }
      },
    ]
  }

  private static func user(_ call: RouteCall) throws -> String {
    guard let user = call.query("user") else { throw Problem(400, "usage", "user: is missing") }
    return try UserArgument.read(user)
  }

  private func lint(_ body: [UInt8]) async throws -> LintReport {
    let now = Int(Date.now.timeIntervalSince1970)
    do {
      let job = try await JobLint(body, apps: apps, now: now) { try await stores.reading() }
      return LintReport(file: "", lint: job.lint, unchecked: job.unchecked)
    } catch let error as JSONSyntaxError {
      throw CommandError(.input, "the body is not valid JSON: \(error)", hint: "send a job or a payload")
    }
  }
}
