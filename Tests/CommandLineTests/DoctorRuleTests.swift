import APNs
import CampaignStore
import FCM
import Foundation
import PushTransport
import PushWorker
import Redis
import ServiceTools
import TLS
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// Findings of `carillon doctor`. The test causes each of them once.
struct DoctorRuleTests {
  private typealias Level = DoctorFinding.Level

  private func levels(_ findings: [DoctorFinding]) -> [Level] { findings.map(\.level) }

  /// Expects a finding with this level and text, and a hint if something is wrong.
  private func expectFinding(
    _ findings: [DoctorFinding], _ level: DoctorFinding.Level, _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    expect(
      findings.contains { $0.level == level && $0.text.contains(text) }, "\(findings)", sourceLocation: sourceLocation)
    expect(findings.allSatisfy { ($0.level == .healthy) == ($0.hint == nil) }, sourceLocation: sourceLocation)
  }

  // MARK: Redis

  private static let wellServer = [
    "redis_version": "7.2.4", "role": "master", "maxmemory_policy": "noeviction", "aof_enabled": "1",
    "aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok", "used_memory": "1048576", "maxmemory": "104857600",
  ]

  private static func node(_ changes: [String: String?]) -> FleetNode {
    var fields = wellServer
    for (field, value) in changes { fields[field] = value }
    return FleetNode(
      endpoint: "r:1", info: RedisServerInfo(parsing: fields.map { "\($0):\($1)" }.joined(separator: "\n")))
  }

  @Test func correctServerHasNoFinding() {
    let findings = RedisRules.findings(Self.node([:]))
    expect(levels(findings), is: [.healthy, .healthy, .healthy], "\(findings)")
  }

  @Test(arguments: [
    ("redis_version", "6.0.16", "problem", "too old"), ("redis_version", "6.2.1", "advice", "Redis 6.2.1"),
    ("redis_version", nil, "advice", "does not report its version"), ("role", "slave", "problem", "is a replica"),
    ("maxmemory_policy", "allkeys-lru", "problem", "maxmemory-policy is allkeys-lru"),
    ("aof_enabled", "0", "advice", "has no append-only file"),
    ("aof_last_write_status", "err", "problem", "can't save its data"),
    ("rdb_last_bgsave_status", "err", "problem", "can't save its data"),
    ("maxmemory", "0", "advice", "without a limit"),
    ("used_memory", "94371840", "problem", "uses 90 % of its memory, 90 MiB"),
  ])
  func serverProblemIsReported(field: String, value: String?, level: String, text: String) throws {
    let findings = RedisRules.findings(Self.node([field: value]))
    expectFinding(findings, try #require(DoctorFinding.Level(rawValue: level)), text)
    expect(findings.count { $0.level != .healthy }, is: 1)
  }

  @Test func slowServersAndWrongClocksAreReported() {
    func findings(_ microseconds: Int, _ ahead: Int) -> [DoctorFinding] {
      RedisRules.findings(ServerLatency(endpoint: "r:1", roundTrips: [1, microseconds, 900_000], clockAhead: ahead))
    }
    expect(levels(findings(300, 1999)), is: [.healthy])
    expectFinding(findings(10_000, 0), .advice, "takes 10.0 ms to answer")
    expectFinding(findings(150_000, 0), .problem, "takes 150.0 ms to answer")
    expectFinding(findings(300, -2500), .advice, "its clock is 2 s behind this machine's")
    expectFinding(findings(300, 600_000), .problem, "its clock is 10 min ahead of this machine's")
  }

  @Test func openSlotsRightsAndCrowdedPartitionsAreReported() {
    expectFinding(RedisRules.findings(openSlots: nil), .advice, "lacks the permission to check")
    expectFinding(RedisRules.findings(openSlots: []), .healthy, "no slot")
    expectFinding(
      RedisRules.findings(openSlots: [93, 77]), .problem, "2 slots of the cluster are open, for example 93")
    expectFinding(RedisRules.findings(missing: nil, of: .worker), .advice, "before 7")
    expectFinding(RedisRules.findings(missing: [], of: .reader), .healthy, "all permissions of the role reader")
    let missing = (0..<7).map { "cmd\($0) key" }
    expectFinding(RedisRules.findings(missing: missing, of: .worker), .problem, "cmd4 key and 2 more")
    expect(RedisRules.findings(usersOfPartition: 20_000, partitions: 256).isEmpty)
    let crowded = RedisRules.findings(usersOfPartition: 45_000, partitions: 256)
    expectFinding(crowded, .advice, "about 45000 users")
    expect(crowded.first?.hint, is: "run carillon store repartition 1152")
  }

  // MARK: Credentials

  @Test func keyFileOfAnotherIdIsReported() throws {
    let folder = try ScratchFolder()
    func findings(_ name: String) throws -> [DoctorFinding] {
      let file = try folder.writeSecret(name, ECPrivateKey.generate().pem)
      let settings = APNsSettings(
        path: "apps.news", topic: "com.example.news",
        credential: .token(.init(keyFile: file, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")))
      return CredentialRules.findings(
        "news",
        .init(services: [CarillonConfiguration.AppService(configured: ConfiguredService(APNsTools(), settings))]),
        now: 0)
    }
    expect(try levels(findings("AuthKey_ABC123DEFG.p8")), is: [.healthy])
    expect(try levels(findings("news.p8")), is: [.healthy])
    expectFinding(try findings("AuthKey_ZZZZZZZZZZ.p8"), .advice, "but the configured key id is ABC123DEFG")
  }

  @Test func differentRatesOfOneProjectAreReported() {
    func app(_ rate: Double?, project: String = "news") -> CarillonConfiguration.App {
      let settings = FCMSettings(path: "apps.a", credential: .metadataServer, project: project)
      var service = CarillonConfiguration.AppService(configured: ConfiguredService(FCMTools(), settings))
      service.rate = rate
      return .init(services: [service])
    }
    expect(QuotaRules.findings(["a": app(100), "b": app(100), "c": app(nil)]).isEmpty)
    expect(QuotaRules.findings(["a": app(100), "b": app(50, project: "shop")]).isEmpty)
    let findings = QuotaRules.findings(["a": app(100), "b": app(50), "c": app(nil)])
    expectFinding(
      findings, .advice, "the lowest, 50 per second, applies: apps.a.fcm.rate is 100, apps.b.fcm.rate is 50")
    expect(findings.map(\.subject), is: ["fcm:news"])
  }

  // MARK: Connections to the endpoint and the backend

  @Test func endingCertificateOfTheEndpointIsReported() throws {
    let summary = { (days: Int64) in CertificateSummary(name: "a", issuer: "b", validity: 0...(days * 86_400)) }
    expectFinding(
      NetworkCheck.findings([summary(30), summary(90)], "e", now: 0), .healthy,
      "a by b, 2 in the chain, valid for 30 more"
    )
    expectFinding(NetworkCheck.findings([summary(6)], "e", now: 0), .advice, "for 6 more days")
    expect(NetworkCheck.findings([], "e", now: 0).isEmpty)
  }

  @Test func unhealthyBackendIsReported() {
    let backend = AppBackend(
      check: HealthCheck(url: "http://b/health", slowAfter: 500), interval: 5000, rate: 2000, leastShare: 0.1)
    expectFinding(
      [BackendRules.finding("news", backend, .healthy)], .healthy,
      "the health check of its backend succeeded at http://b/health")
    expectFinding([BackendRules.finding("news", backend, .slow(milliseconds: 900))], .advice, "answered after 900 ms")
    expectFinding(
      [BackendRules.finding("news", backend, .failing("status 503"))], .problem, "http://b/health: status 503")
  }

  // MARK: This machine, versions

  private static let machine = MachineFacts(
    descriptors: 65_536, availableMemory: 4 << 30, memoryLimit: nil, isClockSynchronised: true, libcurl: "8.14.1",
    nghttp2: "1.64.0", openSSL: "OpenSSL 3.5.1")

  @Test func machineProblemsAreReported() {
    func findings(
      _ engine: PushEngineKind = .native, _ change: (inout MachineFacts) -> Void = { _ in }
    ) -> [DoctorFinding] {
      var facts = Self.machine
      change(&facts)
      return MachineRules.findings(facts, engine: engine)
    }
    expect(findings().allSatisfy { $0.level == .healthy })
    expectFinding(findings { $0.descriptors = 256 }, .problem, "limit of open files per process is 256")
    expectFinding(findings { $0.availableMemory = 100 << 20 }, .problem, "100 MiB of memory")
    expectFinding(findings { $0.memoryLimit = 64 << 20 }, .problem, "64 MiB of memory")
    expectFinding(findings { $0.isClockSynchronised = false }, .advice, "the clock of this machine is not synchronised")
    expectFinding(findings { $0.zones.isThere = false }, .problem, "/usr/share/zoneinfo contains no time zones")
    expectFinding(findings { $0.zones.lacksOldNames = true }, .advice, "lack deprecated names such as US/Pacific")
    expectFinding(findings { $0.libcurl = "7.88.1" }, .advice, "libcurl 7.88.1")
    expectFinding(findings(.curl) { $0.libcurl = "7.88.1" }, .problem, "libcurl 7 resets ended streams")
    expect(findings { $0.isClockSynchronised = nil }.count, is: findings().count - 1)
  }

  @Test func libraryVersionsAreThoseOfTheProgram() throws {
    let facts = MachineFacts.current()
    expect(facts.libcurl.first?.isNumber == true && facts.nghttp2.hasPrefix("1."))
    expect(facts.openSSL.hasPrefix("OpenSSL 3") && facts.descriptors > 0)
    expect(MachineFacts.available(in: "MemTotal: 5 kB\nMemAvailable:   77 kB\n"), is: 77 * 1024)
    expect(MachineFacts.available(in: ""), is: nil)
  }

  @Test func timeZonesAreThoseOfTheFolderThatWorkersGoBy() throws {
    let folder = try ScratchFolder()
    let nothing = MachineFacts.facts(of: ZoneDatabase(folder: folder.path("none")))
    expect(nothing, is: ZoneFacts(folder: folder.path("none"), isThere: false, lacksOldNames: true))
    // As in Debian 13 without `tzdata-legacy`: the folder has the present names but no old names.
    let utc = try #require(FileManager.default.contents(atPath: ZoneDatabase.systemFolder + "/UTC"))
    try utc.write(to: URL(filePath: folder.path("UTC")))
    let bare = MachineFacts.facts(of: ZoneDatabase(folder: folder.path("")))
    expect(bare.isThere && bare.lacksOldNames)
  }

  @Test func otherVersionsInTheFleetAreReported() {
    expectFinding(VersionRules.findings(own: "1", fleet: [], live: 0), .advice, "no worker")
    expectFinding(
      VersionRules.findings(own: "1", fleet: ["1"], live: 3), .healthy, "3 live workers, all with this version")
    expectFinding(
      VersionRules.findings(own: "1", fleet: ["1", "2"], live: 3), .advice,
      "this program has version 1, workers have 1 and 2")
  }

  @Test func reportSortsCountsAndNamesTheHint() throws {
    var report = DoctorReport()
    report.add([.problem(.versions, "", "old", hint: "upgrade"), .healthy(.redis, "r", "fine")])
    expect(report.text, is: "ok  redis  r: fine\n!   versions  old\n      upgrade\n1 to fix, 0 to consider, 1 ok")
    expect(!report.isHealthy)
    let json = try JSONObject(report.json)
    expect(json.bool("healthy") == false && json.number("problems") == 1)
    expect(json.objects("findings")?.last?.text("hint"), is: "upgrade")
  }
}
