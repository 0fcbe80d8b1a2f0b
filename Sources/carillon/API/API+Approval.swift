import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore

/// Who agrees to a campaign, and what it was: approval, and the manifest.
extension API {
  var approval: [APIOperation] {
    [
      APIOperation(
        name: "approveCampaign", method: "POST", path: "/campaigns/{id}/approve", scope: .operate,
        summary: "Lets a campaign go on that waits for approval. Not by the token that submitted it",
        body: .init(schema: OpenAPI.ref("Nothing"), limit: Self.smallLimit, isRequired: false),
        answers: [.init(status: 200, meaning: "The state that it is in now", schema: OpenAPI.ref("Controlled"))],
        run: approve),
      APIOperation(
        name: "campaignManifest", method: "GET", path: "/campaigns/{id}/manifest", scope: .view,
        summary: "What a campaign was, as carillon campaign manifest prints it",
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
        summary: "Holds a copy of a manifest against its SHA-256 and against the campaign as it is now",
        body: .init(schema: OpenAPI.ref("Manifest"), limit: Self.listLimit),
        answers: [.init(status: 200, meaning: "It holds", schema: OpenAPI.ref("Held"))]
      ) { call in
        let (id, store) = (call.parameter("id"), try await stores.reading())
        return try await compute(in: \.counts, for: call) {
          let copy = try CampaignManifest(copy: String(decoding: call.request.body, as: UTF8.self), of: id, "the copy")
          try await copy.hold(against: id, in: store)
          return .json(CampaignManifest.held(id))
        }
      },
    ]
  }

  private func approve(_ call: RouteCall) async throws -> HTTPResponse {
    _ = try RequestFields(call.request.body, known: [])
    guard let name = call.holder?.name else {
      throw Problem(
        403, "forbidden", "nobody can say who approves it: no token is asked for here",
        hint: "make tokens: carillon admin token NAME --scope operate, and set admin.tokenFile")
    }
    let (id, store) = (call.parameter("id"), try await stores.reading())
    guard try await store.campaigns.find(id) != nil else { throw try await CampaignLookup(store).whereIs(id) }
    let state = try await store.campaigns.approve(id, by: name)
    await AuditTrail(store).note(Self.actor(call), "campaign.approve", id)
    return .json(CampaignVerbOutcome(id: id, state: state).json)
  }

  /// The job of a request, submitted by the token that it came with: whoever that names is asked for nobody's word.
  ///
  /// - Throws: when the job names somebody else.
  func submittedJob(_ call: RouteCall) throws -> [UInt8] {
    guard let name = call.holder?.name else { return call.request.body }
    do {
      return try CampaignJob.submitted(call.request.body, by: name)
    } catch {
      throw JobError(
        field: error.field,
        message: "the job names somebody else than the token \(Excerpt.quoted(name)) that submits it",
        hint: "leave it out: by HTTP it is the name of the token")
    }
  }
}
