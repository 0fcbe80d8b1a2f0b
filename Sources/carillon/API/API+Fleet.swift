import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore
import PushWorker

/// Operations on the fleet: its status, the number of workers that it needs, the queue, the schedule and the audit log.
extension API {
  var fleet: [APIOperation] {
    [
      APIOperation(
        name: "status", method: "GET", path: "/status", scope: .view,
        summary:
          "Get the state of the fleet, as in carillon status: workers, queues, lanes, running campaigns, Redis, alarms",
        answers: [.init(status: 200, meaning: "The state, at most one second old", schema: OpenAPI.ref("Status"))]
      ) { _ in .json(FleetReport(try await stores.snapshot()).json) },
      APIOperation(
        name: "wantedWorkers", method: "GET", path: "/workers/wanted", scope: .view,
        summary: "Get the number of workers needed for the remaining pushes, for KEDA's metrics-api with target 1",
        parameters: [
          .init(
            name: "perSecond", schema: #"{"type":"integer","minimum":1,"maximum":1000000}"#,
            meaning: "Pushes per second of one worker (default: 5000)"),
          .init(
            name: "within", schema: #"{"type":"integer","minimum":1,"maximum":86400}"#,
            meaning: "Seconds in which the remaining pushes must be sent (default: 60)"),
        ],
        answers: [.init(status: 200, meaning: "The number and its reason", schema: OpenAPI.ref("Wanted"))]
      ) { call in
        let wanted = WantedWorkers(
          try await stores.snapshot(), perSecond: try call.number("perSecond", in: 1...1_000_000, default: 5000),
          seconds: try call.number("within", in: 1...86_400, default: 60))
        return .object { json in
          json.member("wantedWorkers", wanted.workers)
          json.member("liveWorkers", wanted.live)
          json.member("remaining", wanted.remaining)
          json.member("reason", wanted.reason)
        }
      },
      APIOperation(
        name: "listQueue", method: "GET", path: "/queue", scope: .view,
        summary: "List queued jobs. If the queue is long, only the next jobs are listed",
        answers: [.init(status: 200, meaning: "The queue", schema: OpenAPI.ref("Queue"))]
      ) { call in
        let store = try await stores.reading()
        let queue = try await compute(for: call) { try await store.queue.waiting() }
        let waiting =
          queue.jobs.isEmpty ? nil : try await store.campaigns.absence(lease: WorkerConfiguration.standardLease)
        return .object { json in
          json.array("jobs", queue.jobs) { QueuedReport(job: $1, waiting: waiting).write(to: &$0) }
          json.member("unseen", queue.unseen)
          json.member("nameless", queue.nameless)
        }
      },
      APIOperation(
        name: "listSchedule", method: "GET", path: "/schedule", scope: .view,
        summary: "List campaigns that have not started or wait for approval, the next one first",
        parameters: [OpenAPI.limit(most: 500)],
        answers: [.init(status: 200, meaning: "The next campaigns", schema: OpenAPI.ref("Schedule"))]
      ) { call in
        let limit = try call.number("limit", in: 1...500, default: 50)
        let scheduled = try await stores.reading().campaigns.scheduled(count: limit)
        return .object { json in
          json.objects("scheduled", scheduled) { json, campaign in
            json.member("id", campaign.id)
            json.member("at", Timestamp.format(milliseconds: campaign.at))
            json.member("needsApproval", campaign.needsApproval)
          }
        }
      },
      APIOperation(
        name: "listAudit", method: "GET", path: "/audit", scope: .admin,
        summary: "List the audit log, newest entry first",
        parameters: [OpenAPI.limit(most: 500), OpenAPI.cursor],
        answers: [.init(status: 200, meaning: "A page", schema: OpenAPI.page("entries", of: "Audit"))]
      ) { call in
        let limit = try call.number("limit", in: 1...500, default: 50)
        let page = try await stores.reading().results.auditLog(from: call.query("cursor"), count: limit)
        return .object { json in
          json.objects("entries", page.elements) { json, entry in
            json.member("key", entry.key)
            json.member("at", Timestamp.format(milliseconds: entry.at))
            json.member("actor", entry.actor)
            json.member("action", entry.action)
            json.member("subject", entry.subject)
            json.member("detail", entry.detail)
          }
          json.member("next", page.next)
        }
      },
    ]
  }
}
