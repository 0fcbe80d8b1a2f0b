import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore

/// Operations for the approval and the manifest of a campaign.
extension API {
  var approval: [APIOperation] {
    [
      APIOperation(
        name: "approveCampaign", method: "POST", path: "/campaigns/{id}/approve", scope: .operate,
        effect: .changes([.campaignApprove]),
        summary: "Approve a campaign that needs approval. The token must not be the token that submitted the job",
        body: .init(schema: OpenAPI.ref("Nothing"), limit: Self.smallLimit, isRequired: false),
        answers: [.init(status: 200, meaning: "The campaign's new state", schema: OpenAPI.ref("Controlled"))],
        run: approve),
      APIOperation(
        name: "campaignManifest", method: "GET", path: "/campaigns/{id}/manifest", scope: .view,
        summary: "Get the manifest of a campaign, as printed by carillon campaign manifest",
        answers: [.init(status: 200, meaning: "The manifest", schema: OpenAPI.ref("Manifest"))]
      ) { call in
        let (id, store) = (call.parameter("id"), try await stores.reading())
        var response = try await compute(in: \.counts, for: call) {
          HTTPResponse.json(try await CampaignManifest(of: id, in: store).json + "\n")
        }
        response.headers.append(("Content-Disposition", "attachment; filename=\"\(id)-manifest.json\""))
        return response
      },
      APIOperation(
        name: "checkManifest", method: "POST", path: "/campaigns/{id}/manifest", scope: .view,
        summary: "Compare a copy of a manifest with its SHA-256 and with the campaign",
        body: .init(schema: OpenAPI.ref("Manifest"), limit: Self.listLimit),
        answers: [.init(status: 200, meaning: "The copy matches", schema: OpenAPI.ref("Held"))]
      ) { call in
        let (id, store) = (call.parameter("id"), try await stores.reading())
        return try await compute(in: \.counts, for: call) {
          let copy = try CampaignManifest(copy: String(decoding: call.request.body, as: UTF8.self), of: id, "the copy")
          try await copy.compare(with: id, in: store)
          return .json(CampaignManifest.held(id))
        }
      },
    ]
  }

  private func approve(_ call: RouteCall) async throws -> HTTPResponse {
    _ = try RequestFields(call.request.body, known: [])
    guard let name = call.holder?.name else {
      throw Problem(
        403, "forbidden", "approval needs a token, and this server has none, so the approver is unknown",
        hint: "set admin.tokenFile, then create tokens: carillon admin token NAME --scope operate")
    }
    let (id, store) = (call.parameter("id"), try await stores.reading())
    guard try await store.campaigns.find(id) != nil else { throw try await CampaignLookup(store).notFound(id) }
    let (_, outcome) = try await CampaignActions(store).approve(id, by: name)
    await AuditTrail(store).record(Self.actor(call), .campaignApprove, id)
    return .json(outcome.json)
  }

  /// Returns the job of a request. Its submitter is the name of the request's access token.
  ///
  /// - Throws: `JobError` if the job names another submitter.
  func submittedJob(_ call: RouteCall) throws -> [UInt8] {
    guard let name = call.holder?.name else { return call.request.body }
    do {
      return try CampaignJob.submitted(call.request.body, by: name)
    } catch {
      throw JobError(
        field: error.field,
        message: "differs from the name of the request's token, \(Excerpt.quoted(name))",
        hint: "omit this field: over HTTP, the submitter is always the name of the request's token")
    }
  }
}
