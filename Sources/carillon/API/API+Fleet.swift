import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore
import PushWorker

/// The fleet: workers, queues, schedule, how many workers would be right, who did what.
extension API {
  var fleet: [APIOperation] {
    [
      APIOperation(
        name: "status", method: "GET", path: "/status", scope: .view,
        summary:
          "The fleet at a look, as carillon status has it: workers, queues, lanes, campaigns that run, Redis, alarms",
        answers: [.init(status: 200, meaning: "As it was within the last second", schema: OpenAPI.ref("Status"))]
      ) { _ in .json(FleetReport(try await stores.look()).json) },
      APIOperation(
        name: "wantedWorkers", method: "GET", path: "/workers/wanted", scope: .view,
        summary: "How many workers would be right for what is left to send: for KEDA's metrics-api, target 1",
        parameters: [
          .init(
            name: "perSecond", schema: #"{"type":"integer","minimum":1,"maximum":1000000}"#,
            meaning: "Pushes a second of one worker; 5000 unless given"),
          .init(
            name: "within", schema: #"{"type":"integer","minimum":1,"maximum":86400}"#,
            meaning: "Seconds in which what is left is to be sent; 60 unless given"),
        ],
        answers: [.init(status: 200, meaning: "How many, and why", schema: OpenAPI.ref("Wanted"))]
      ) { call in
        let wanted = WantedWorkers(
          try await stores.look(), perSecond: try call.number("perSecond", in: 1...1_000_000, default: 5000),
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
        summary: "Jobs that no worker has made campaigns of; of a long queue those that are next",
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
        summary: "Campaigns that have not begun or wait for approval, the next one first",
        parameters: [OpenAPI.limit(most: 500)],
        answers: [.init(status: 200, meaning: "The next ones", schema: OpenAPI.ref("Schedule"))]
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
        name: "listAudit", method: "GET", path: "/audit", scope: .admin, summary: "Who did what, the newest first",
        parameters: [OpenAPI.limit(most: 500), OpenAPI.cursor],
        answers: [.init(status: 200, meaning: "A page", schema: OpenAPI.page("entries", of: "Audit"))]
      ) { call in
        let limit = try call.number("limit", in: 1...500, default: 50)
        let page = try await stores.reading().results.auditLog(from: call.query("cursor"), count: limit)
        return .object { json in
          json.objects("entries", page.elements) { json, entry in
            json.member("key", entry.key)
            json.member("at", Timestamp.format(milliseconds: entry.at))
            json.member("who", entry.who)
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
