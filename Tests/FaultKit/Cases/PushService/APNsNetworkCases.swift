import TestSupport

/// The network between workers and APNs fails, while APNs is healthy.
enum APNsNetworkCases {
  static let all = [cut, halfOpen, blackhole, answersLost]

  private static let workers = 2
  /// The timeout is short, so that a silent connection is detected during the case. 20 attempts are more than any push
  /// needs while the faults last.
  private static let environment = [
    "CARILLON_WORKER_ANSWER_TIMEOUT": "2s", "CARILLON_RETRY_ATTEMPTS": "20",
    "CARILLON_RETRY_TOO_MANY_REQUESTS": "200ms",
  ]

  private static func play(
    _ stage: Stage, _ fault: String, windows: Int, _ act: (ProxiedWorkers.Member) async throws -> Bool
  ) async throws {
    let world = try await stage.world {
      $0.devices = stage.times(short: 800, full: 2000)
      $0.simulator = ["--latency", "200ms"]
    }
    let fleet = try await ProxiedWorkers(world, size: workers, to: .apns, environment: environment)
    for (number, ambiguity) in stage.ambiguities.enumerated() {
      let campaign = FaultCampaign("way-\(number)") { $0.ambiguity = ambiguity }
      try await world.submit(campaign)
      try await world.reached(50, of: campaign)
      var fired = 0
      // Each fault delays a worker for some seconds, because after a while a worker opens only one connection every
      // five seconds.
      while fired < stage.times(short: 2, full: 6), try await !world.hasEnded(campaign) {
        if let member = stage.random(of: fleet.members), try await act(member) { fired += 1 }
        await stage.elapse(milliseconds: 100...1500)
      }
      try await world.ended(campaign)
      let doubts = fired * windows * world.options.window
      stage.fired(fault, times: fired, duplicates: ambiguity == .resend ? doubts : 0)
      try await stage.expect(unknownAtMost: ambiguity == .skip ? doubts : 0, of: campaign, in: world)
      for member in fleet.members { await member.proxy.disarm() }
      try await stage.check(world)
    }
    await fleet.finish(stage)
  }

  static let cut = FaultCase(
    "apns-cut", faults: ["connection to APNs cut"],
    invariant: "targets in doubt are sent again; with skip they become unknown",
    bound: "window × cuts: the pushes in flight; with skip 0"
  ) { stage in
    try await play(stage, "connection to APNs cut", windows: 1) { member in
      let cuts = await member.proxy.counters.cuts
      // The cut usually comes after the handshake. A cut during the handshake would delay the case, because workers
      // retry failed connections with growing delays.
      let (direction, bytes) =
        stage.random(0...1) == 0
        ? (ProxyDirection.requests, stage.random(0...15_000)) : (.replies, stage.random(0...4000))
      await member.proxy.cut(after: bytes, of: direction, by: stage.random(of: [.reset, .finish]) ?? .reset)
      await stage.elapse(milliseconds: 300...1000)
      await member.proxy.disarm()
      return await member.proxy.counters.cuts > cuts
    }
  }

  /// Returns a case with a fault that the worker can detect only by a timeout.
  ///
  /// It affects both connections of a worker. A worker may give up the first connection, send its pushes again on the
  /// second one, and then give up the second one too.
  private static func silence(
    _ name: String, fault: String, _ kind: ProxyFault, invariant: String,
    fired: @escaping @Sendable (ProxyCounters) -> Int
  ) -> FaultCase {
    FaultCase(
      name, faults: [fault], invariant: invariant,
      bound: "window × 2 connections × silences: the pushes in flight; with skip 0"
    ) { stage in
      try await play(stage, fault, windows: 2) { member in
        let before = fired(await member.proxy.counters)
        await member.proxy.set(kind)
        // The silence is shorter or longer than the timeout.
        await stage.elapse(milliseconds: 1000...5000)
        await member.proxy.set(.none)
        return fired(await member.proxy.counters) > before
      }
    }
  }

  static let halfOpen = silence(
    "apns-half-open", fault: "connection to APNs half open", .halfOpen,
    invariant: "timed out after worker.answerTimeout; the rest goes over a new connection"
  ) { $0.halfOpened }

  static let blackhole = silence(
    "apns-blackhole", fault: "APNs out of reach, bytes late", .stall,
    invariant: "timed out after worker.answerTimeout, although the push arrives later"
  ) { $0.stalls }

  static let answersLost = silence(
    "apns-answers-lost", fault: "answers of APNs lost, pushes delivered", .drop(requests: false, replies: true),
    invariant: "timed out after worker.answerTimeout, although the device has it"
  ) { $0.swallowedReplyBytes }
}
