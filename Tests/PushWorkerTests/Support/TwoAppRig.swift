import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TestSupport

/// Two apps with an endpoint each, and two workers that send for both, to test the effect of one app's failure on the
/// other.
///
/// The rig's own app and simulator are the healthy ones.
struct TwoAppRig {
  let rig: WorkerRig
  let sick: FailingEndpoint
  let workers: [PushWorker]
  private let runs: [Task<Void, any Error>]

  /// The name of the app whose endpoint fails.
  static let sickApp = "sport"
  private static let sickTopic = "com.example.sport"

  /// Registers the devices of both apps, each in a segment with the app's name, and starts the workers.
  ///
  /// - Parameters:
  ///   - healthy: the number of devices of the healthy app.
  ///   - ill: the number of devices of the other app.
  ///   - partitions: the number of slices of a campaign. It is small, so that each slice has more targets than a
  ///     window.
  init(engine: PushEngineKind, healthy: Int, ill: Int = 0, partitions: Int = 16) async throws {
    let rig = try await WorkerRig(engine: engine, partitions: partitions) {
      // A new connection has one stream until the first acceptance. This test is about endpoints that are in use
      // already.
      $0.initialStreams = 1000
    }
    self.rig = rig
    sick = try await FailingEndpoint(topic: Self.sickTopic, folder: rig.folder)
    try await rig.register(healthy)
    try await rig.store.audiences.add((0..<healthy).map { "u\($0)" }, to: "news")
    let others = (0..<ill).map { number in
      var record = DeviceRecord(token: WorkerRig.token(1_000_000 + number), service: "apns")
      record.app = Self.sickApp
      record.registeredAt = 1000
      return DeviceRegistration(user: "s\(number)", device: record)
    }
    if !others.isEmpty {
      try await rig.store.registry.register(others)
      try await rig.store.audiences.add(others.map(\.user), to: Self.sickApp)
    }
    var configuration = WorkerConfiguration(
      name: "", window: Self.window,
      retry: RetryPolicy(firstServerError: 1, serverError: 1, tooManyRequests: 1, attempts: 50),
      apps: ["news": rig.channel, Self.sickApp: sick.channel])
    configuration.engine = engine
    // The timeout is far longer than a healthy campaign may take, so no credit returns because of a timeout.
    configuration.answerTimeout = 15_000
    workers = ["one", "other"].map {
      configuration.name = $0
      return PushWorker(
        configuration: configuration, store: rig.client(), sharedStore: rig.client(), blocking: rig.client(),
        observer: { _ in })
    }
    runs = workers.map { worker in Task { try await worker.run() } }
  }

  /// The window of each of the two workers. It is small, so that few targets fill it several times.
  static let window = 200

  /// Stops the workers.
  func stop() async throws {
    for worker in workers { await worker.stop() }
    for run in runs { try await run.value }
  }

  /// Pushes a job as a producer does.
  ///
  /// - Parameter audience: `nil` for all devices of the app.
  func push(_ id: String, app: String = "news", lane: Lane = .normal, audience: String? = nil) async throws {
    let audience = audience ?? #"{"segment":"\#(app)"}"#
    try await rig.push(
      raw:
        #"{"id":"\#(id)","app":"\#(app)","lane":"\#(lane)","audience":\#(audience),"apns":{"payload":{"aps":{"alert":"hi"}}}}"#
    )
  }

  /// Pushes a job and waits for its campaign's end.
  ///
  /// - Parameter limit: the longest time to wait.
  /// - Returns: the seconds from the push to the end, by Redis' clock; `nil` if the campaign did not end in time.
  func time(
    _ id: String, lane: Lane = .normal, audience: String? = nil, within limit: Duration = .seconds(30)
  ) async throws -> Double? {
    let began = try await rig.store.time() / 1000
    try await push(id, lane: lane, audience: audience)
    return try await ending(of: id, within: limit).map { Double($0 - began) / 1000 }
  }

  /// Waits for a campaign's end.
  ///
  /// - Returns: the end by Redis' clock; `nil` if the campaign did not end within the limit.
  func ending(of id: String, within limit: Duration) async throws -> Int? {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      let start = ContinuousClock.now
      if let end = try await rig.store.campaigns.find(id)?.times.finishedAt { return end }
      await elapse(afterCheckSince: start, atLeast: .milliseconds(5))
    }
    return nil
  }

  /// Waits until no more requests arrive at the failed endpoint for a while. The workers' pushes of its campaign then
  /// wait there and use all the credit that they get. A slow endpoint may still get requests after the wait ends.
  func restOfSick() async throws {
    let deadline = ContinuousClock.now + .seconds(4)
    var (last, since) = (-1, ContinuousClock.now)
    while since.duration(to: .now) < .milliseconds(400), ContinuousClock.now < deadline {
      let received = await sick.received
      if received != last { (last, since) = (received, .now) }
      await elapse(.milliseconds(10))
    }
  }

  /// Returns the outcomes of a campaign.
  func outcomes(of id: String) async throws -> [Outcome: Int] {
    try await rig.store.campaigns.show(id)?.counters.outcomes ?? [:]
  }
}
