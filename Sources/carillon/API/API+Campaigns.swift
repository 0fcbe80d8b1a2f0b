import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore
import PushWorker

/// Operations on campaigns: submit, show, control, results.
extension API {
  var campaigns: [APIOperation] {
    [
      APIOperation(
        name: "listCampaigns", method: "GET", path: "/campaigns", scope: .view,
        summary: "List campaigns, newest first. The field done counts finished slices",
        parameters: [
          .init(
            name: "state",
            schema: "{\"enum\":[\(ListedState.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ","))]}",
            meaning: "Only campaigns in this state"),
          .init(name: "app", schema: OpenAPI.name, meaning: "Only campaigns of this app"),
          .init(name: "lane", schema: #"{"enum":["urgent","normal","bulk"]}"#, meaning: "Only campaigns in this lane"),
          OpenAPI.limit(most: 200), OpenAPI.cursor,
        ],
        answers: [
          .init(
            status: 200,
            meaning: "A page. It may have fewer elements than requested; next is the cursor of the next page",
            schema: OpenAPI.page("campaigns", of: "Campaign"))
        ], run: list),
      APIOperation(
        name: "submitCampaign", method: "POST", path: "/campaigns", scope: .submit,
        effect: .changes([.campaignSubmit]),
        summary: "Submit a job. The same job again changes nothing; another job with a used id is a conflict",
        body: .init(schema: OpenAPI.ref("Job"), limit: CampaignJob.maximumSize),
        answers: [
          .init(
            status: 201, meaning: "The job is in the queue", schema: OpenAPI.ref("Submission"),
            links: APIOperation.Link.to(
              [
                "showCampaign", "showJob", "pauseCampaign", "resumeCampaign", "approveCampaign", "cancelCampaign",
                "exportResults", "previewOfCampaign", "campaignManifest",
              ], "id")),
          .init(status: 200, meaning: "The same job was already submitted", schema: OpenAPI.ref("Submission")),
        ]
      ) { call in
        let store = try await stores.taking()
        let submission = try await compute(for: call) {
          let job = try submittedJob(call)
          var submission = try await JobSubmission(job, resolved: await store.campaigns.resolve(job), apps)
          try await submission.addWarnings(from: store)
          return submission
        }
        let isDuplicate = try await submission.submit(to: store, by: call.holder?.name)
        let id = submission.campaign.id
        if !isDuplicate {
          await AuditTrail(store).record(submitted: submission.campaign, by: Self.actor(call))
        }
        let more = isDuplicate ? [] : await submission.warningsOfReach(store, configuration)
        var response = HTTPResponse.json(
          submission.json(isDuplicate: isDuplicate, more: more), status: isDuplicate ? 200 : 201)
        // The location is relative to the path of the request (RFC 9110 section 10.2.2), because a proxy may add a
        // prefix to that path.
        response.headers.append(("Location", "campaigns/\(id)"))
        return response
      },
      APIOperation(
        name: "estimateCampaign", method: "POST", path: "/campaigns/estimate", scope: .view,
        summary: "Estimate how many users and devices a job would reach now, without submitting it",
        body: .init(schema: OpenAPI.ref("Job"), limit: CampaignJob.maximumSize),
        answers: [.init(status: 200, meaning: "The estimate", schema: OpenAPI.ref("Estimate"))]
      ) { call in
        let store = try await stores.reading()
        let job = call.request.body
        let submission = try await compute(for: call) {
          var submission = try await JobSubmission(job, resolved: await store.campaigns.resolve(job), apps)
          try await submission.addWarnings(from: store)
          return submission
        }
        let (reached, bytes) = try await compute(in: \.counts, for: call) {
          try await submission.count(store, configuration)
        }
        return .json(submission.json(reached, bytes: bytes))
      },
      APIOperation(
        name: "showCampaign", method: "GET", path: "/campaigns/{id}", scope: .view,
        summary: "Get a campaign, or the position of its job in the queue, as in carillon campaign show",
        answers: [.init(status: 200, meaning: "The campaign", schema: OpenAPI.ref("Campaign"))]
      ) { call in
        let store = try await stores.reading()
        return try await compute(for: call) { try await show(call.parameter("id"), in: store) }
      },
      APIOperation(
        name: "showJob", method: "GET", path: "/campaigns/{id}/job", scope: .view,
        summary: "Get the job of a campaign, without white space",
        answers: [.init(status: 200, meaning: "The job", schema: #"{"type":"object"}"#)]
      ) { call in
        let (id, store) = (call.parameter("id"), try await stores.reading())
        guard let (_, job) = try await store.campaigns.findWithJob(id) else {
          throw try await CampaignLookup(store).notFound(id)
        }
        return .json(String(decoding: job, as: UTF8.self))
      },
      verb(.pause, "Pause a campaign. Returns when every worker has stopped sending it, or after 12 s"),
      verb(.resume, "Resume a paused campaign"),
      verb(.cancel, "Cancel a campaign, or remove its job from the queue. This can't be undone"),
      APIOperation(
        name: "decideCampaign", method: "POST", path: "/campaigns/{id}/decide", scope: .operate,
        effect: .changes([.campaignDecide]),
        summary: "Choose the winning variant. This can't be changed later",
        body: .init(schema: OpenAPI.ref("Decide"), limit: Self.smallLimit),
        answers: [.init(status: 200, meaning: "The decision", schema: OpenAPI.ref("Decided"))]
      ) { call in
        let fields = try RequestFields(call.request.body, known: ["variant"])
        guard let name = try fields.string("variant") else { throw Problem(400, "usage", "variant: is missing") }
        let (id, store) = (call.parameter("id"), try await stores.reading())
        let (decision, state) = try await store.campaigns.decide(id, variant: name, by: call.holder?.name ?? "")
        await AuditTrail(store).record(Self.actor(call), .campaignDecide, id, detail: name)
        return .json(DecisionReport(id: id, variant: name, state: state, decision: decision).json)
      },
      APIOperation(
        name: "exportResults", method: "GET", path: "/campaigns/{id}/results", scope: .view,
        summary:
          "Get the outcome of every token as a stream, one line per token. If the connection ends early, the rest is missing",
        parameters: [
          .init(name: "format", schema: #"{"enum":["ndjson","csv"]}"#, meaning: "The format (default: ndjson)"),
          .init(
            name: "only",
            schema: "{\"enum\":[\"failures\",\(Outcome.allCases.map { "\"\($0.name)\"" }.joined(separator: ","))]}",
            meaning: "Only this outcome; failures means all outcomes except accepted"),
        ],
        answers: [
          .init(status: 200, meaning: "One line per token", type: "application/x-ndjson", otherType: "text/csv")
        ],
        run: export),
    ]
  }

  private func list(_ call: RouteCall) async throws -> HTTPResponse {
    var filter = Campaigns.CampaignFilter()
    let state = try call.choice("state", ListedState.self)
    if state == .queued { return try await queued(call) }
    filter.state = state?.campaign
    filter.app = call.query("app")
    filter.lane = try call.choice("lane", Lane.self)
    let limit = try call.number("limit", in: 1...200, default: 50)
    let store = try await stores.reading()
    let page = try await store.campaigns.page(filter, from: call.query("cursor"), count: limit)
    return .object { json in
      json.array("campaigns", page.elements) { CampaignReport($1).write(to: &$0) }
      json.member("next", page.next)
    }
  }

  /// Returns the queued jobs.
  private func queued(_ call: RouteCall) async throws -> HTTPResponse {
    let store = try await stores.reading()
    let jobs = try await compute(for: call) { try await store.queue.waiting().jobs }
    let waiting = jobs.isEmpty ? nil : try await store.campaigns.absence(lease: WorkerConfiguration.standardLease)
    return .object { json in
      json.array("campaigns", jobs) { QueuedReport(job: $1, waiting: waiting).write(to: &$0) }
      json.member("next", nil as String?)
    }
  }

  private func show(_ id: String, in store: CampaignStore) async throws -> HTTPResponse {
    switch try await CampaignLookup(store).find(id) {
    case .campaign(var report):
      try await CampaignLookup(store).fill(&report)
      return .json(report.json)
    case .queued(let report): return .json(report.json)
    case nil: throw try await CampaignLookup(store).absent(id)
    }
  }

  private func verb(_ verb: ControlVerb, _ summary: String) -> APIOperation {
    let isResume = verb == .resume
    return APIOperation(
      name: verb.rawValue + "Campaign", method: "POST", path: "/campaigns/{id}/\(verb.rawValue)", scope: .operate,
      effect: .changes([AuditAction(verb)].compactMap(\.self)), summary: summary,
      body: .init(
        schema: OpenAPI.ref(isResume ? "Resume" : verb == .pause ? "Pause" : "Reason"), limit: Self.smallLimit,
        isRequired: false),
      answers: [.init(status: 200, meaning: "The campaign's new state", schema: OpenAPI.ref("Controlled"))]
    ) { call in
      let known = [isResume ? "unguarded" : "reason"] + (verb == .cancel ? [] : ["service"])
      let fields = try RequestFields(call.request.body, known: known)
      let service = verb == .cancel ? nil : try fields.string("service")
      let (reason, unguarded) =
        isResume ? ("", try fields.flag("unguarded")) : (try fields.string("reason") ?? "", false)
      let (id, store) = (call.parameter("id"), try await stores.reading())
      let outcome = try await CampaignActions(store).carryOut(
        verb, on: id, reason: reason, unguarded: unguarded, service: service, by: call.holder?.name ?? "")
      await AuditTrail(store).record(
        verb, on: id, detail: CampaignActions.detail(reason, unguarded: unguarded, service: service),
        by: Self.actor(call))
      return .json(outcome.json)
    }
  }

  private func export(_ call: RouteCall) async throws -> HTTPResponse {
    let format = try call.choice("format", DeviceRowReader.Format.self) ?? .ndjson
    var wanted: Set<Outcome?> = []
    if let text = call.query("only") {
      wanted = Set(Outcome.allCases.filter { $0.name == text || text == "failures" && $0 != .accepted })
      guard !wanted.isEmpty else { throw Problem(400, "usage", "only: is not an outcome") }
    }
    let (id, store) = (call.parameter("id"), try await stores.reading())
    guard let record = try await store.campaigns.find(id) else { throw try await CampaignLookup(store).notFound(id) }
    let services = try record.stageServices.map(PushServices.known.named)
    let groups = try await compute(for: call) { try await CampaignLookup(store).groups(of: id) }
    return HTTPResponse(
      200,
      headers: [
        ("Content-Type", format == .csv ? "text/csv; charset=utf-8" : "application/x-ndjson"),
        ("Cache-Control", "no-store"), ("Content-Disposition", "attachment; filename=\"\(id).\(format.rawValue)\""),
      ],
      body: .stream { [wanted] writer in
        var lines = ResultWriter(campaign: id, services: services, groups: groups, format: format)
        try await store.results.forEachResult(of: id) { results in
          for result in results where wanted.isEmpty || wanted.contains(result.outcome) { lines.append(result) }
          try await writer.write(lines.take())
          return true
        }
        try await writer.write(lines.take())
      })
  }
}
