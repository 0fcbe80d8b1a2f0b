import Redis

/// Round-trip times and clock difference of a Redis server.
public struct ServerLatency: Sendable, Equatable {
  /// Address of the server.
  public var endpoint: String
  /// Durations of sequential round trips with a minimal command, in µs.
  public var roundTrips: [Int]
  /// Difference of the server's clock to this machine's clock in ms, positive if the server is ahead. It is computed
  /// from the fastest round trip.
  public var clockAhead: Int

  /// Creates a measurement.
  public init(endpoint: String, roundTrips: [Int], clockAhead: Int) {
    self.endpoint = endpoint
    self.roundTrips = roundTrips
    self.clockAhead = clockAhead
  }

  /// The median round trip, in µs.
  public var median: Int { roundTrips.isEmpty ? 0 : roundTrips.sorted()[roundTrips.count / 2] }
}

extension Fleet {
  /// Measures the round trips to each server with keys.
  ///
  /// - Parameters:
  ///   - rounds: number of round trips to each server.
  ///   - clock: this machine's clock, in ms since the epoch.
  public func serverLatencies(rounds: Int = 15, clock: () -> Int) async throws -> [ServerLatency] {
    var latencies: [ServerLatency] = []
    for server in try await store.identify() {
      let partition = (0..<keys.partitions).first { server.has(partition: $0) }
      guard let key = server.hasControl ? keys.store : partition.map({ keys.home(of: $0) }) else { continue }
      var latency = ServerLatency(endpoint: server.place, roundTrips: [], clockAhead: 0)
      var best = Int.max
      for _ in 0..<rounds {
        var pipeline = RedisPipeline()
        // TIME has no key, so the client sends it to the server of the command before it.
        pipeline.append("EXISTS", key)
        pipeline.append("TIME")
        let (began, before) = (ContinuousClock.now, clock())
        let reply = try await run(pipeline)[1]
        let microseconds = Int((ContinuousClock.now - began) / .microseconds(1))
        latency.roundTrips.append(microseconds)
        guard microseconds < best, let time = reply.time else { continue }
        best = microseconds
        latency.clockAhead = time / 1000 - (before + microseconds / 2000)
      }
      latencies.append(latency)
    }
    return latencies
  }

  /// Returns the slots of a cluster whose migration was not completed; `nil` if the Redis user may not read them.
  public func openSlots() async throws -> [Int]? {
    do {
      return try await redis.openSlots()
    } catch let error as RedisServerError where error.code == .noPermission {
      return nil
    }
  }
}
