import Redis

/// How fast a Redis server answers, and what its clock says.
public struct NodePace: Sendable, Equatable {
  /// Where it is.
  public var endpoint: String
  /// Round trips of the smallest question, in µs, one after the other.
  public var roundTrips: [Int]
  /// How far its clock is ahead of this machine's, in ms, as well as the fastest of these round trips tells.
  public var clockAhead: Int

  /// Memberwise.
  public init(endpoint: String, roundTrips: [Int], clockAhead: Int) {
    self.endpoint = endpoint
    self.roundTrips = roundTrips
    self.clockAhead = clockAhead
  }

  /// The one in the middle, in µs.
  public var median: Int { roundTrips.isEmpty ? 0 : roundTrips.sorted()[roundTrips.count / 2] }
}

extension Fleet {
  /// Measures the way to each server that has keys.
  ///
  /// - Parameters:
  ///   - rounds: questions to each.
  ///   - clock: this machine's, in ms since the epoch.
  public func paces(rounds: Int = 15, clock: () -> Int) async throws -> [NodePace] {
    var paces: [NodePace] = []
    for server in try await store.identify() {
      let partition = (0..<keys.partitions).first { server.has(partition: $0) }
      guard let key = server.hasControl ? keys.store : partition.map({ keys.home(of: $0) }) else { continue }
      var pace = NodePace(endpoint: server.place, roundTrips: [], clockAhead: 0)
      var best = Int.max
      for _ in 0..<rounds {
        var pipeline = RedisPipeline()
        // TIME names no key: it goes where the command before it went.
        pipeline.append("EXISTS", key)
        pipeline.append("TIME")
        let (began, before) = (ContinuousClock.now, clock())
        let time = try await run(pipeline)[1]
        let microseconds = Int((ContinuousClock.now - began) / .microseconds(1))
        pace.roundTrips.append(microseconds)
        guard microseconds < best, let seconds = time[0].integer else { continue }
        best = microseconds
        pace.clockAhead = seconds * 1000 + (time[1].integer ?? 0) / 1000 - (before + microseconds / 2000)
      }
      paces.append(pace)
    }
    return paces
  }

  /// The slots of a cluster that were left open; `nil` where the Redis user may not ask.
  public func openSlots() async throws -> [Int]? {
    do {
      return try await redis.openSlots()
    } catch let error as RedisServerError where error.code == .noPermission {
      return nil
    }
  }
}
