import Glibc
import PushTransport
import TestKit
import TestSupport
import Testing

/// HTTP endpoints of a worker.
@Suite(.takesTurns) struct WorkerEndpointTests {
  @Test(arguments: PushEngineKind.one(for: "endpointsReportReadinessCountsAndShutdown"))
  func endpointsReportReadinessCountsAndShutdown(engine: PushEngineKind) async throws {
    var world = try await CarillonWorld(engine: engine.rawValue)
    let simulator = try await world.startSimulator()
    try await world.importDevices(30)
    try await simulator.load(["\(CarillonWorld.token(0)),unregistered,com.example.news,1893456000000"])
    try await world.submit("a")
    let worker = try await world.start("worker", "--name", "w", "--json", "--listen", "127.0.0.1:0")
    let url = try await worker.listeningURL()
    try await world.until("a") { $0.text("state") == "completed" }
    expect(try await Curl.get(url + "/livez") == (200, "ok\n"))
    let ready = try await Curl.get(url + "/readyz")
    expect(ready.status == 200 && ready.text.contains(#""ready":true"#), "\(ready.text)")
    let metrics = try await Curl.get(url + "/metrics").text
    let shown = try await world.show("a")
    for (outcome, count) in shown.object("outcomes")?.numbers ?? [:] {
      expect(
        metrics.contains(
          "carillon_outcomes_total{app=\"news\",service=\"apns\",lane=\"normal\",outcome=\"\(outcome)\"} \(count)\n"))
    }
    for line in [
      "carillon_worker_info{worker=\"w\",version=", "carillon_worker_ready 1\n",
      "carillon_answer_duration_seconds_count{app=\"news\",service=\"apns\",engine=\"\(engine.rawValue)\"} 30\n",
      "carillon_window_used_targets 0\n", "carillon_redis_round_trips_total{node=\"",
    ] {
      expect(metrics.contains(line), "\(line) is not in \(metrics)")
    }

    try await simulator.setLatency(milliseconds: 60_000)
    try await world.submit("stuck")
    try await world.until("stuck") { ($0.number("inDoubt") ?? 0) > 0 }
    worker.send(signal: SIGTERM)
    _ = try #require(await worker.errorLine(containing: #""event":"draining""#))
    let draining = try await Curl.get(url + "/readyz")
    expect(draining.status == 503 && draining.text.contains("the worker is stopping"), "\(draining.text)")
    expect(await worker.terminate(), is: .status(0))
  }

  @Test(.enabled(if: PromtoolCommand.isPresent, "promtool is missing: deploy/install-checkers"))
  func promtoolAcceptsTheMetrics() async throws {
    var world = try await CarillonWorld(engine: "native")
    _ = try await world.startSimulator()
    try await world.importDevices(3)
    try await world.submit("a")
    let worker = try await world.start("worker", "--name", "w", "--json", "--listen", "127.0.0.1:0")
    let url = try await worker.listeningURL()
    try await world.until("a") { $0.text("state") == "completed" }
    let metrics = try await Curl.get(url + "/metrics").text
    expect(metrics.contains("carillon_outcomes_total{"), "\(metrics)")
    expect(try await PromtoolCommand.complaints(about: metrics), is: "")
    expect(await worker.terminate(), is: .status(0))
  }

  @Test("without Redis a worker is live but not ready")
  func withoutRedis() async throws {
    let world = try await CarillonWorld(url: "redis://127.0.0.1:1")
    let worker = try await world.start("worker", "--json", "--listen", "[::1]:0")
    let url = try await worker.listeningURL()
    expect(try await Curl.get(url + "/livez").status, is: 200)
    let ready = try await Curl.get(url + "/readyz")
    expect(ready.status == 503 && ready.text.contains("first connection to Redis"))
    expect(try await Curl.get(url + "/metrics").text.contains("carillon_worker_ready 0\n"))
    expect(await worker.waitForExit(), is: .status(69))
  }

  /// The test really blocks a part of a worker. `/livez` names the part, although nothing else in the process may work.
  /// SIGTERM ends the process soon after its deadline.
  @Test(arguments: [
    ("loop", "the worker's event loop"), ("redis", "the Redis driver's event loop"), ("executor", "Swift's executor"),
  ])
  func blockedPartIsNoticed(part: String, says: String) async throws {
    let world = try await CarillonWorld(engine: "native")
    let worker = try await world.start(
      ["worker", "--json", "--listen", "127.0.0.1:0"],
      environment: ["CARILLON_FAULT_BLOCK": part, "CARILLON_WORKER_DEADLINE": "1s"])
    let url = try await worker.listeningURL()
    var answer = (status: 200, text: "")
    try await poll(until: "/livez names \(says)", every: .milliseconds(100)) {
      answer = try await Curl.get(url + "/livez", "--max-time", "20")
      return answer.status != 200 && answer.text.contains(says)
    }
    expect(answer.status == 503 && answer.text.hasPrefix("no progress: "), "\(answer)")
    worker.send(signal: SIGTERM)
    let exit = await worker.waitForExit()
    // If the connection that waits for jobs is blocked, a worker may still stop normally.
    expect(exit == .status(70) || part == "redis" && exit == .status(0), "\(exit)")
  }

  @Test func takenPortIsAnErrorWithAWayOut() async throws {
    let world = try await CarillonWorld()
    let worker = try await world.start("worker", "--json", "--listen", "127.0.0.1:0")
    let url = try await worker.listeningURL()
    let other = try await world.run("worker", "--listen", String(url.dropFirst("http://".count)))
    other.expect(exit: 1, saying: "Address already in use", "--listen")
    expect(await worker.terminate(), is: .status(0))
  }
}
