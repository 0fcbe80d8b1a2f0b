import TestSupport

/// The network between workers and Redis fails, while Redis is healthy.
enum RedisNetworkCases {
  static let all = [blackhole, cut, repliesLost, delay]

  private static let workers = 3

  private static func world(_ stage: Stage) async throws -> FaultWorld {
    try await stage.world {
      $0.devices = stage.times(short: 1000, full: 4000)
      $0.simulator = ["--latency", "200ms"]
    }
  }

  /// Plays campaigns, and repeats a fault on the connection of a random worker until they end.
  private static func again(
    _ stage: Stage, pace: ClosedRange<Int>, _ act: (ProxiedWorkers.Member) async throws -> Void
  ) async throws {
    let world = try await world(stage)
    let fleet = try await ProxiedWorkers(world, size: workers, to: .redis)
    for (number, ambiguity) in stage.ambiguities.enumerated() {
      let campaign = FaultCampaign("network-\(number)") { $0.ambiguity = ambiguity }
      try await world.submit(campaign)
      while try await !world.hasEnded(campaign) {
        if let member = stage.random(of: fleet.members) { try await act(member) }
        await stage.elapse(milliseconds: pace)
      }
      for member in fleet.members { await member.proxy.disarm() }
      try await stage.expect(unknownAtMost: 0, of: campaign, in: world)
      try await stage.check(world)
    }
    await fleet.finish(stage)
  }

  static let blackhole = FaultCase(
    "redis-blackhole", faults: ["one worker can't reach Redis for longer than a lease"],
    invariant: "others take over; later answers of the cut-off worker count, and it gets no grant",
    bound: "window × blackholes: its granted targets; with skip 0"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await ProxiedWorkers(world, size: workers, to: .redis)
    for (number, ambiguity) in stage.ambiguities.enumerated() {
      let campaign = FaultCampaign("blackhole-\(number)") { $0.ambiguity = ambiguity }
      try await world.submit(campaign)
      try await world.reached(50, of: campaign)
      guard let member = stage.random(of: fleet.members) else { return }
      let before = await fleet.sum { $0.stalls + $0.swallowedReplyBytes + $0.swallowedRequestBytes }
      // Requests arrive late, never, or in time but without a reply.
      let kinds = [ProxyFault.stall, .drop(requests: true, replies: true), .drop(requests: false, replies: true)]
      await member.proxy.set(stage.random(of: kinds) ?? .stall)
      await stage.elapse(milliseconds: StandstillCases.lease + 1000...StandstillCases.lease + 4000)
      await member.proxy.set(.none)
      if await fleet.sum({ $0.stalls + $0.swallowedReplyBytes + $0.swallowedRequestBytes }) > before {
        let duplicates = ambiguity == .resend ? world.options.window : 0
        stage.fired("one worker can't reach Redis for longer than a lease", duplicates: duplicates)
      }
      try await world.ended(campaign)
      try await stage.expect(unknownAtMost: ambiguity == .skip ? world.options.window : 0, of: campaign, in: world)
      try await stage.check(world)
    }
    await fleet.finish(stage)
  }

  static let cut = FaultCase(
    "redis-cut",
    faults: ["connection to Redis cut in a request", "connection to Redis cut in a reply, the request applied"],
    invariant: "an applied request is not applied again; nothing is sent twice", bound: "0: no worker died"
  ) { stage in
    try await again(stage, pace: 50...300) { member in
      let direction = stage.random(of: [ProxyDirection.requests, .replies]) ?? .replies
      let cuts = await member.proxy.counters.cuts
      // A commit has some kB, and its reply about 50 bytes.
      let bytes = direction == .requests ? stage.random(0...6000) : stage.random(0...200)
      await member.proxy.cut(after: bytes, of: direction, by: stage.random(of: [.reset, .finish]) ?? .reset)
      await stage.elapse(milliseconds: 100...400)
      await member.proxy.disarm()
      guard await member.proxy.counters.cuts > cuts else { return }
      stage.fired(
        direction == .requests
          ? "connection to Redis cut in a request" : "connection to Redis cut in a reply, the request applied")
    }
  }

  static let repliesLost = FaultCase(
    "redis-replies-lost", faults: ["replies of Redis lost for a while, requests applied"],
    invariant: "an applied request is not applied again; nothing is sent twice",
    bound: "0: every lease was renewed in time"
  ) { stage in
    try await again(stage, pace: 200...800) { member in
      let before = await member.proxy.counters.swallowedReplyBytes
      await member.proxy.set(.drop(requests: false, replies: true))
      // This is shorter than the rest of a lease at the time of its renewal.
      await stage.elapse(milliseconds: 100...1500)
      await member.proxy.set(.none)
      if await member.proxy.counters.swallowedReplyBytes > before {
        stage.fired("replies of Redis lost for a while, requests applied")
      }
    }
  }

  static let delay = FaultCase(
    "redis-delay", faults: ["connection to Redis slow"], invariant: "only slower", bound: "0: no worker died"
  ) { stage in
    let world = try await world(stage)
    let fleet = try await ProxiedWorkers(world, size: workers, to: .redis)
    for member in fleet.members { await member.proxy.setDelay(milliseconds: stage.random(20...120)) }
    for (number, ambiguity) in stage.ambiguities.enumerated() {
      let before = await fleet.sum { $0.delayed }
      let campaign = FaultCampaign("delay-\(number)") { $0.ambiguity = ambiguity }
      try await world.submit(campaign)
      try await world.ended(campaign)
      stage.firedByRate("connection to Redis slow", times: await fleet.sum { $0.delayed } - before)
      try await stage.expect(unknownAtMost: 0, of: campaign, in: world)
      try await stage.check(world)
    }
    await fleet.finish(stage)
  }
}
