import EventLoop

/// Client of a cluster, with one connection at a time to each server that has slots.
///
/// The client sends the parts of a pipeline to the servers of their keys' slots at the same time. The answers have the
/// order of the pipeline. If a server reports that a slot has moved (`MOVED`), the client uses the new address and
/// reads the slot map again. If a server reports that a key has moved (`ASK`), the client uses the new address once. If
/// a server can't be reached or does not answer, the client also reads the map again. The client sends commands only to
/// servers that the map or a redirection names.
///
/// Source: Redis Cluster specification, "Clients and servers roles" and "Live resharding".
actor ClusterClient {
  /// Maximum number of redirections of a call. Without this limit, two servers that redirect to each other would cause
  /// an endless loop.
  private static let maximumRedirects = 16
  /// Maximum number of retries of a call whose keys are moving. Servers may refuse such a call until the whole slot has
  /// moved. A caller that can wait repeats the call later.
  private static let maximumArrivals = 3
  /// Time to wait for a server before the map is read again.
  private static let step = Duration.milliseconds(300)
  /// Timeout of `INFO` for one server. It is short, because the caller waits for the answers of all servers.
  private static let infoTimeout = Duration.seconds(2)

  private let url: RedisURL
  private let options: RedisOptions
  private let scripts: [RedisScript]
  private let loop: EventLoop
  private let home: KeySlot
  private let monitor: ClusterMonitor
  private var random: any RandomNumberGenerator & Sendable
  private var map: ClusterMap?
  private var servers: [RedisAddress: ServerClient] = [:]
  private var listener: UInt64?
  private var isClosed = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// See ``RedisClient/init(url:options:scripts:random:on:)``.
  init(
    url: RedisURL, options: RedisOptions, scripts: [RedisScript], random: any RandomNumberGenerator & Sendable,
    on loop: EventLoop
  ) {
    self.url = url
    self.options = options
    self.scripts = scripts
    self.random = random
    self.loop = loop
    home = KeySlot(of: options.home)
    monitor = .shared(url, options: options)
  }

  /// See ``RedisClient/execute(_:timeout:waitTimeout:on:)``.
  func execute(
    _ pipeline: RedisPipeline, timeout: Duration?, waitTimeout: Duration?, on admitted: RedisConnections?
  ) async throws(RedisError) -> [RedisReply] {
    guard !pipeline.isEmpty else { return [] }
    let end = EventLoop.now + (waitTimeout ?? options.waitTimeout).wholeNanoseconds
    var call = ClusterCall(pipeline, home: home)
    var (redirects, arrivals) = (0, 0)
    do throws(RedisError) {
      while true {
        let map = try await map(until: end)
        let parts = call.parts(by: map)
        let results = await run(parts, timeout: timeout, waitTimeout: rest(until: end), on: admitted)
        let isUnserved = parts.reduce(0) { $0 + $1.positions.count } < call.openCount
        var (pauses, isLost) = (isUnserved, false)
        for (part, result) in zip(parts, results) {
          switch result {
          case .success(let replies):
            let outcome = call.record(replies, of: part, reachable: options.cluster.addresses)
            await follow(outcome, of: part)
            if outcome.isRedirected { redirects += 1 }
            if outcome.hasArriving { arrivals += 1 }
            pauses = pauses || outcome.hasArriving || outcome.hasUnserved
          case .failure(let error):
            await doubt(part.address, error)
            // No byte of this part was sent. Another server may now own the slots.
            guard isPassing(error), EventLoop.now < end else { throw error }
            isLost = true
          }
        }
        if call.isComplete || redirects > Self.maximumRedirects || arrivals > Self.maximumArrivals, !isLost,
          let answers = call.answers
        {
          return answers
        }
        if pauses {
          guard EventLoop.now < end else {
            if let answers = call.answers { return answers }
            throw unservedSlot(call.openSlot)
          }
          if isUnserved { await monitor.doubt(url.addresses[0]) }
          await pause()
        }
      }
    } catch {
      var failure = error
      failure.mayHaveExecuted = failure.mayHaveExecuted || call.hasRun
      throw failure
    }
  }

  /// See ``RedisClient/connect(waitTimeout:)``.
  func connect(waitTimeout: Duration?) async throws(RedisError) -> RedisServerInfo {
    let end = EventLoop.now + (waitTimeout ?? options.waitTimeout).wholeNanoseconds
    while true {
      guard let address = try await map(until: end).owner(of: home) else {
        guard EventLoop.now < end else { throw unservedSlot(home) }
        await monitor.doubt(url.addresses[0])
        await pause()
        continue
      }
      do {
        return try await server(at: address).connect(waitTimeout: rest(until: end))
      } catch {
        await doubt(address, error)
        guard isPassing(error), EventLoop.now < end else { throw error }
      }
    }
  }

  /// See ``RedisClient/serverStates(_:waitTimeout:)``.
  func serverStates(_ sections: [String], waitTimeout: Duration?) async throws(RedisError) -> [RedisServerState] {
    let end = EventLoop.now + (waitTimeout ?? options.waitTimeout).wholeNanoseconds
    while true {
      let map = try await map(until: end)
      var states: [RedisServerState] = []
      var failure: RedisError?
      var isChanging = false
      for (address, result) in await readStates(sections, map, waitTimeout: rest(until: end)) {
        switch result {
        // The server is a replica now: another server has taken over its slots, or will do so soon.
        case .success(let state) where state.info.role == .replica:
          isChanging = true
          await monitor.doubt(address)
        case .success(let state): states.append(state)
        case .failure(let error):
          await doubt(address, error)
          failure = failure ?? error
        }
      }
      if isChanging, EventLoop.now < end {
        await pause()
        continue
      }
      guard states.isEmpty else { return states }
      throw failure ?? unservedSlot(home)
    }
  }

  private func readStates(
    _ sections: [String], _ map: ClusterMap, waitTimeout: Duration
  ) async -> [(RedisAddress, Result<RedisServerState, RedisError>)] {
    let waitTimeout = min(waitTimeout, Self.infoTimeout)
    return await withTaskGroup(of: (Int, RedisAddress, Result<RedisServerState, RedisError>).self) { group in
      for (index, address) in map.owners.enumerated() {
        let server = server(at: address)
        group.addTask {
          do throws(RedisError) {
            let state = try await server.serverState(
              sections, timeout: Self.infoTimeout, waitTimeout: waitTimeout, place: (map, address))
            return (index, address, .success(state))
          } catch {
            return (index, address, .failure(error))
          }
        }
      }
      var results: [(Int, RedisAddress, Result<RedisServerState, RedisError>)] = []
      for await result in group { results.append(result) }
      return results.sorted { $0.0 < $1.0 }.map { ($0.1, $0.2) }
    }
  }

  /// Returns the `CLUSTER NODES` of each server with slots.
  func nodes() async throws -> [String] {
    let map = try await map(until: EventLoop.now + options.waitTimeout.wholeNanoseconds)
    var texts: [String] = []
    for address in map.owners {
      var pipeline = RedisPipeline()
      pipeline.append("CLUSTER", "NODES")
      let replies = try await server(at: address).executeOnce(
        pipeline, timeout: Self.infoTimeout, waitTimeout: Self.infoTimeout
      ).1
      texts.append(try replies[0].get().string ?? "")
    }
    return texts
  }

  /// See ``RedisClient/isConnected(by:)``.
  func isConnected(by admitted: RedisConnections) async -> Bool {
    guard let map else { return false }
    for address in map.owners {
      guard let number = await servers[address]?.connectionNumber, admitted.contains(number) else { return false }
    }
    return true
  }

  /// Closes the connections and fails all waiting calls. Idempotent. After this call, the client can't be used again.
  func close() async {
    guard !isClosed else { return }
    isClosed = true
    if let listener { await monitor.remove(listener) }
    let last = servers.values
    servers = [:]
    for server in last { await server.close() }
  }
}

// MARK: - Servers

extension ClusterClient {
  private func server(at address: RedisAddress) -> ServerClient {
    if let server = servers[address] { return server }
    let server = ServerClient(
      url: url.at(address), options: options, scripts: scripts, random: random, mustBePrimary: true, on: loop)
    // After ``close()``, a new client must not be stored, because no code would close it.
    if !isClosed { servers[address] = server }
    return server
  }

  /// Sends each part to its server, all at the same time.
  private func run(
    _ parts: [ClusterCall.Part], timeout: Duration?, waitTimeout: Duration, on admitted: RedisConnections?
  ) async -> [Result<[RedisReply], RedisError>] {
    let waitTimeout = min(waitTimeout, Self.step)
    guard parts.count != 1 else {
      return [await Self.ask(server(at: parts[0].address), parts[0], timeout, waitTimeout, admitted)]
    }
    return await withTaskGroup(of: (Int, Result<[RedisReply], RedisError>).self) { group in
      for (index, part) in parts.enumerated() {
        let server = server(at: part.address)
        group.addTask { (index, await Self.ask(server, part, timeout, waitTimeout, admitted)) }
      }
      var results: [(Int, Result<[RedisReply], RedisError>)] = []
      for await result in group { results.append(result) }
      return results.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private static func ask(
    _ server: ServerClient, _ part: ClusterCall.Part, _ timeout: Duration?, _ waitTimeout: Duration,
    _ admitted: RedisConnections?
  ) async -> Result<[RedisReply], RedisError> {
    do throws(RedisError) {
      return .success(try await server.execute(part.pipeline, timeout: timeout, waitTimeout: waitTimeout, on: admitted))
    } catch {
      return .failure(error)
    }
  }
}

// MARK: - The map

extension ClusterClient {
  /// Returns the present map. If there is none yet, waits for the first one.
  private func map(until end: UInt64) async throws(RedisError) -> ClusterMap {
    while true {
      guard !isClosed else {
        throw RedisError(.closed, "the client is closed", endpoint: url.endpoint, hint: Hint.none)
      }
      if let map { return map }
      if listener == nil {
        let added = await monitor.add { [weak self, loop] map in
          loop.execute { [weak self] in self?.assumeIsolated { $0.adopt(map) } }
        }
        // Another call may have added a listener in the meantime.
        if listener == nil { listener = added } else { await monitor.remove(added) }
      }
      do throws(RedisError) {
        let map = try await monitor.map()
        if self.map == nil { adopt(map) }
      } catch {
        guard !error.isPermanent, EventLoop.now < end else { throw error }
        await pause()
      }
    }
  }

  /// Uses a new map from now on. Closes the connections to servers without slots, so that calls that wait there are
  /// sent to other servers.
  private func adopt(_ map: ClusterMap) {
    guard !isClosed else { return }
    self.map = map
    let owners = Set(map.owners)
    for (address, server) in servers where !owners.contains(address) {
      servers[address] = nil
      Task { await server.close(because: "the slots of \(address) are elsewhere now") }
    }
  }

  private func follow(_ outcome: ClusterCall.Outcome, of part: ClusterCall.Part) async {
    for (slot, address) in outcome.moved {
      map?.move(slot, to: address)
      await monitor.record(slot, at: address)
    }
    if outcome.hasUnserved { await monitor.doubt(part.address) }
  }

  /// Reports to the monitor that a server gave no answer, so that it asks other servers for the new owner of the slots.
  private func doubt(_ address: RedisAddress, _ error: RedisError) async {
    switch error.code {
    case .reconnected, .cancelled, .overloaded: break
    default: await monitor.doubt(address)
    }
  }

  /// Returns whether a failed call may succeed if it is repeated later, or with a new map.
  private func isPassing(_ error: RedisError) -> Bool {
    guard !error.mayHaveExecuted, !error.isPermanent else { return false }
    switch error.code {
    case .reconnected, .cancelled, .overloaded: return false
    default: return true
    }
  }

  private func unservedSlot(_ slot: KeySlot?) -> RedisError {
    RedisError(
      .notReady, "no server of the cluster has the slot \(slot?.number ?? home.number)", endpoint: url.endpoint,
      hint: "CLUSTER INFO and CLUSTER NODES on any server show the slots without a server.")
  }

  private func rest(until end: UInt64) -> Duration {
    let now = EventLoop.now
    return .nanoseconds(Int64(clamping: end > now ? end - now : 0))
  }

  private func pause() async {
    try? await Task.sleep(for: .milliseconds(Int.random(in: 40...120, using: &random)))
  }
}
