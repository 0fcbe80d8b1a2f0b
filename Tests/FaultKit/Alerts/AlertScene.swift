import Foundation
import TestSupport

/// Workers and an admin server whose metrics are scraped, and the samples of the metrics.
final class AlertScene {
  let stage: Stage
  let world: FaultWorld
  private let epoch = Int(Date().timeIntervalSince1970)
  private var workers: [(worker: WorkerProcess, url: String)] = []
  private let admin: ChildProcess
  private let adminURL: String
  private var samples = MetricsSamples()
  private var questions: [Promtool.Question] = []
  private var started = 0

  /// Starts the admin server and two workers, sends a successful campaign, and scrapes all three processes for the
  /// first time.
  ///
  /// - Parameters:
  ///   - change: changes the options of the world.
  ///   - well: changes the campaign.
  init(
    _ stage: Stage, _ change: (inout FaultWorld.Options) -> Void = { _ in },
    well: (inout FaultCampaign, FaultWorld) -> Void = { _, _ in }
  ) async throws {
    try Promtool.require()
    self.stage = stage
    world = try await stage.world {
      $0.partitions = 32
      $0.devices = 600
      $0.simulator = ["--latency", "50ms"]
      change(&$0)
    }
    admin = try await world.start("admin", "--listen", "127.0.0.1:0", "--json")
    adminURL = try await admin.listeningURL()
    for _ in 0..<2 { try await addWorker() }
    try await send(FaultCampaign("well") { well(&$0, world) })
    try await record(minutes: 3)
  }

  /// Starts a worker whose metrics are scraped.
  @discardableResult
  func addWorker(environment: [String: String] = [:]) async throws -> WorkerProcess {
    started += 1
    let worker = try await world.worker(
      "w\(started)", environment: environment, arguments: ["--listen", "127.0.0.1:0"])
    try await worker.hears("listening")
    let lines = try String(contentsOf: worker.log, encoding: .utf8).split(separator: "\n")
    guard let line = lines.first(where: { $0.contains(#""event":"listening""#) }),
      let url = try JSONObject(String(line)).text("url")
    else { throw TestSupportError("\(worker.name) does not say where it listens") }
    workers.append((worker, url))
    return worker
  }

  /// Starts a worker whose metrics are scraped. The worker logs every detail to `/dev/full`, which refuses every write
  /// like a full disk.
  func addWorkerWithoutLog() async throws -> WorkerProcess {
    let script = world.folder.appending(path: "without-log")
    // Another process writes the script. If this process did, a child that starts at the same moment could inherit the
    // open file, and the script could not be executed (execve(2), ETXTBSY).
    let installation = try await ChildProcess.run(
      "install", ["-m", "700", "/dev/stdin", script.path],
      input: "#!/bin/sh\nexec '\(CarillonCommand.path)' \"$@\" 2>/dev/full\n")
    guard installation.exit == .status(0) else { throw TestSupportError(installation.standardError) }
    let url = "http://127.0.0.1:\(try FreePort.find())"
    let worker = try await world.worker(
      "unlogged", arguments: ["--listen", String(url.dropFirst(7)), "--log-level", "debug"], waits: false,
      program: script.path)
    try await until("\(worker.name) listens") { (try? await get(url)) != nil }
    workers.append((worker, url))
    return worker
  }

  /// The living workers.
  var live: [WorkerProcess] { workers.map(\.worker).filter { $0.process.exit == nil } }

  /// Submits a campaign and waits for its end.
  func send(_ campaign: FaultCampaign) async throws {
    try await world.submit(campaign)
    try await world.ended(campaign)
  }

  // MARK: Scraping

  /// Returns the metrics of all living processes.
  func scrape() async throws -> [String: String] {
    var scrapes = ["admin": try await get(adminURL)]
    for (worker, url) in workers where worker.process.exit == nil { scrapes[worker.name] = try await get(url) }
    return scrapes
  }

  private func get(_ url: String) async throws -> String {
    let output = try await ChildProcess.run(
      "curl", ["--silent", "--show-error", "--fail", "--max-time", "20", url + "/metrics"])
    guard output.exit == .status(0) else { throw TestSupportError("\(url)/metrics: \(output.standardError)") }
    return output.standardOutput
  }

  /// Waits until a metric meets a condition.
  ///
  /// - Parameter byAll: whether all processes must meet the condition, or only one.
  func awaitMetric(
    _ name: String, _ what: String, byAll: Bool = false, _ condition: (Double) -> Bool
  ) async throws {
    try await until("\(name) \(what)", within: .seconds(90), every: .milliseconds(200)) {
      let values = try await scrape().values.compactMap { MetricsSamples.sum(name, in: $0) }
      return byAll ? !values.isEmpty && values.allSatisfy(condition) : values.contains(where: condition)
    }
  }

  // MARK: Judging

  /// Scrapes, and repeats the samples for some minutes.
  func record(minutes: Int) async throws { try samples.record(try await scrape(), minutes: minutes) }

  /// Scrapes, repeats the samples for some minutes, and expects that the alerts fire at the end but not before.
  func fires(_ alerts: String..., after minutes: Int) async throws {
    let before = samples.minutes - 1
    try await record(minutes: minutes)
    for alert in alerts {
      questions.append(.fires(alert, at: before, false))
      questions.append(.fires(alert, at: samples.minutes - 1))
      stage.fired(AlertCases.fault(alert))
    }
  }

  /// Expects that an alert fires in the last recorded minute. Use it if the alert's cause exists from the start.
  func hasFired(_ alert: String) {
    questions.append(.fires(alert, at: samples.minutes - 1))
    stage.fired(AlertCases.fault(alert))
  }

  /// Expects that every expression of the dashboard has a series now.
  func showsDashboard() throws {
    for expression in try Promtool.panels() {
      questions.append(Promtool.Question(expression: expression, minute: samples.minutes - 1, isExpected: true))
    }
  }

  /// Evaluates all expectations, stops the admin server, and checks the world.
  func finish() async throws {
    if let answer = try await Promtool.ask(questions, of: samples, epoch: epoch, in: world.folder) {
      stage.require(false, "promtool: \(answer)")
    }
    stage.addNote("\(questions.count) expressions over \(samples.minutes) minutes")
    admin.send(signal: SIGTERM)
    stage.expect(await admin.waitForExit() == .status(0), "the admin server did not end with 0")
    try await stage.check(world)
  }
}
