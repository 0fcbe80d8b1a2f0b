import Foundation
@testable import Admin
@testable import PushTransport
import PushCore
import CampaignStore
@testable import PushWorker
import TestKit
import TestSupport
import Testing

struct MetricsTests {
  private static let metrics: WorkerMetrics = {
    var state = PoolState()
    state.connections = [ConnectionState(), ConnectionState()]
    state.connections[0].phase = .established
    state.connections[0].window = 40
    return WorkerMetrics(
      apps: [
        .init(
          app: #"ne"ws\"#, service: "apns", lane: .urgent, submitted: 3, outcomes: [.accepted: 2],
          refusals: ["BadDeviceToken": 1], unanswered: 0, retries: 0, prunes: 0, quarantines: 1)
      ],
      pools: [
        .init(apps: ["news", "weather", "sport"], service: "apns", state: state),
        .init(apps: ["news"], service: "fcm", state: state),
      ],
      credentials: [
        .init(service: "apns", state: .init(apps: ["news"], expiresAt: 1_800_000_000_000)),
        .init(service: "fcm", state: .init(apps: ["news"], stopped: "refused")),
      ],
      quotas: [.init(name: "fcm:p", perSecond: 9900, exceeded: 4)], totals: WorkerTotals(),
      events: WorkerEventCounts(), window: 1000, windowUsed: 7, slicesInHand: 2, isStopping: false,
      isListed: true, isStoreLocked: false, silence: 1, heartbeatError: nil)
  }()

  private static var text: String {
    var exposition = Exposition()
    WorkerExposition(
      identity: WorkerIdentity(name: "w", version: "1", engine: "native"),
      worker: metrics, isReady: true
    ).write(to: &exposition)
    ProcessUsage.write(to: &exposition, droppedLogLines: 3)
    return exposition.text
  }

  @Test func samplesAreWrittenAsPrometheusReadsThem() {
    let lines = Self.text.split(separator: "\n")
    for line in [
      #"carillon_pushes_total{app="ne\"ws\\",service="apns",lane="urgent"} 3"#,
      #"carillon_outcomes_total{app="ne\"ws\\",service="apns",lane="urgent",outcome="accepted"} 2"#,
      #"carillon_refusals_total{app="ne\"ws\\",service="apns",lane="urgent",reason="BadDeviceToken"} 1"#,
      #"carillon_stream_limit{app="news+2",service="apns"} 40"#,
      #"carillon_connections{app="news+2",service="apns",state="established"} 1"#,
      #"carillon_credential_stopped{app="news",service="apns"} 0"#,
      #"carillon_credential_stopped{app="news",service="fcm"} 1"#,
      #"carillon_credential_renewal_failing{app="news",service="fcm"} 0"#,
      #"carillon_quota_exceeded_total{quota="fcm:p"} 4"#,
      #"carillon_quota_pushes_per_second{quota="fcm:p"} 9900.0"#,
      #"carillon_certificate_expiry_timestamp_seconds{app="news",service="apns"} 1800000000"#,
      "carillon_window_used_targets 7",
      #"carillon_answer_duration_seconds_bucket{app="news+2",service="apns",engine="native",le="+Inf"} 0"#,
    ] {
      expect(lines.contains(Substring(line)), "\(line)")
    }
    expect(lines.contains { $0.hasPrefix("process_resident_memory_bytes ") && !$0.hasSuffix(" 0") })
  }

  /// Prometheus keeps only the first sample of a series in a scrape. An app with several push services has a pool and a
  /// credential for each.
  @Test func everySeriesHasOneSample() {
    let series = Self.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.prefix { $0 != " " } }
    let repeated = Dictionary(grouping: series) { $0 }.filter { $0.value.count > 1 }.keys
    expect(repeated.isEmpty, "\(repeated)")
  }

  @Test("the page lists exactly the metrics that a worker exposes, with types and labels")
  func documented() throws {
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    let table = Self.rows(of: "## Worker metrics", in: page).union(Self.rows(of: "## Process metrics", in: page))
    // Metrics of Redis nodes are left out: other tests of this process decide whether there is a node.
    let isOfNode = { (family: Family) in family.name.hasPrefix("carillon_redis_") && family.name.hasSuffix("s_total") }
    expect(
      table.filter { !isOfNode($0) },
      is: Self.families(of: Self.text).filter { !isOfNode($0) && !$0.name.hasPrefix("process_") })
  }

  @Test("the page lists exactly the metrics of the fleet")
  func fleetIsDocumented() throws {
    var fleet = FleetSnapshot()
    fleet.queues.lanes = Lane.allCases.map { FleetSnapshot.LaneBacklog(lane: $0) }
    fleet.backends = [BackendStatus(app: "news", share: 0.5, at: 1)]
    var exposition = Exposition()
    FleetExposition(fleet, WantedWorkers(fleet)).write(to: &exposition)
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    // Metrics of Redis nodes are left out: this test has no node.
    let nodes = ["carillon_fleet_redis_memory_bytes", "carillon_fleet_redis_memory_limit_bytes"]
    expect(
      Self.rows(of: "## Fleet metrics", in: page).filter { !nodes.contains($0.name) },
      is: Self.families(of: exposition.text).filter { !nodes.contains($0.name) })
  }

  @Test func everyRangeOfAnswersHasItsBound() {
    for (index, bound) in AnswerTimes.bounds.enumerated() {
      expect(AnswerTimes.range(of: bound) == index && AnswerTimes.range(of: bound + 1) == index + 1)
    }
    expect(AnswerTimes.range(of: 0), is: 0)
    var times = AnswerTimes()
    for time in [1, 7_000_000, 7_000_000, 40_000_000_000] { times.record(UInt64(time)) }
    var twice = times
    twice.add(times)
    expect(times.counts == [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] && times.sum == 40_014_000_001)
    expect(twice.counts.reduce(0, +), is: 8)
  }

  /// A metric family, read from the page or from a scrape.
  struct Family: Hashable {
    var name: String
    var type: String
    var labels: Set<String>
  }

  static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "deploy/operations/metrics.md")

  /// Returns the rows of the table below a heading.
  static func rows(of headline: String, in page: String) -> Set<Family> {
    let section = page.components(separatedBy: headline + "\n").last?.components(separatedBy: "\n#").first ?? ""
    return Set(
      section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
        let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        let labels =
          cells.count > 3 ? cells[2].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } : []
        return Family(
          name: cells[0].trimmingCharacters(in: ["`"]), type: cells[1], labels: Set(labels.filter { !$0.isEmpty }))
      })
  }

  /// Returns the metric families of a scrape. Labels come from samples, so each family needs a sample.
  static func families(of text: String) -> Set<Family> {
    var families: [String: Family] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if line.hasPrefix("# TYPE ") {
        families[String(words[2])] = Family(name: String(words[2]), type: String(words[3]), labels: [])
      } else if !line.hasPrefix("#") {
        var name = String(line.prefix { $0 != "{" && $0 != " " })
        for suffix in ["_bucket", "_sum", "_count"] where families[name] == nil && name.hasSuffix(suffix) {
          name.removeLast(suffix.count)
        }
        let labels = line.matches(of: /([a-z]+)="/).map { String($0.1) }.filter { $0 != "le" }
        families[name]?.labels.formUnion(labels)
      }
    }
    return Set(families.values)
  }
}
