public import EventLoop

/// Redis: a single server, the primary that sentinels name, or a cluster, by way of one connection at a time to each
/// server.
///
/// The first call connects. A connection that is lost is replaced, again and again, with growing, jittered pauses, until
/// ``close()``. Calls that were in flight fail with ``RedisError/mayHaveExecuted`` set; calls of which nothing was sent are
/// carried over to the next connection while their patience lasts.
///
/// In a cluster a pipeline goes in parts to the servers of its keys' slots, see ``ClusterClient``. What names no key goes
/// where the command before it in the pipeline went, and without one to the server of ``RedisOptions/home``.
///
/// A blocking command (`BLMOVE`) holds up everything behind it: give it a client of its own and a longer timeout.
public final class RedisClient: Sendable {
  enum Servers {
    case one(ServerClient)
    case cluster(ClusterClient)
  }

  /// Where this client connects to.
  public let url: RedisURL
  let options: RedisOptions
  let servers: Servers

  /// - Parameters:
  ///   - url: where to, and as whom.
  ///   - options: timeouts, patience, backoff.
  ///   - scripts: loaded on every new connection before its first call; others when they are first called.
  ///   - random: the source of jitter.
  ///   - loop: where it lives. Calls from an actor on the same loop need no thread to be woken.
  public init(
    url: RedisURL, options: RedisOptions = RedisOptions(), scripts: [RedisScript] = [],
    random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(), on loop: EventLoop? = nil
  ) {
    self.url = url
    self.options = options
    let loop = loop ?? EventLoop(label: "redis \(url.endpoint)")
    servers =
      if url.topology == .cluster {
        .cluster(ClusterClient(url: url, options: options, scripts: scripts, random: random, on: loop))
      } else {
        .one(ServerClient(url: url, options: options, scripts: scripts, random: random, on: loop))
      }
  }

  /// Sends commands and waits for all their answers.
  ///
  /// - Parameters:
  ///   - pipeline: what to send; an empty one is answered at once.
  ///   - timeout: for the answers, instead of the option.
  ///   - patience: for a connection if there is none, instead of the option; zero fails at once.
  ///   - admitted: the connections that the call may use, as ``sights(_:patience:)`` gave them; on any other it fails with
  ///     ``RedisError/Code/reconnected``. For callers who must first look whether a server has lost anything.
  /// - Returns: one reply per command, in their order; a refusal by Redis is a reply.
  public func execute(
    _ pipeline: RedisPipeline, timeout: Duration? = nil, patience: Duration? = nil, on admitted: RedisConnections? = nil
  ) async throws(RedisError) -> [RedisReply] {
    switch servers {
    case .one(let server):
      try await server.execute(pipeline, timeout: timeout, patience: patience, on: admitted)
    case .cluster(let cluster):
      try await cluster.execute(pipeline, timeout: timeout, patience: patience, on: admitted)
    }
  }

  /// Sends one command and waits for its answer; see ``execute(_:timeout:patience:on:)``.
  public func command<each Argument: RedisArgument>(
    _ name: StaticString, _ argument: repeat each Argument
  ) async throws(RedisError) -> RedisReply {
    var pipeline = RedisPipeline()
    pipeline.append(name, repeat each argument)
    return try await execute(pipeline)[0]
  }

  /// Runs one script and waits for its answer; see ``RedisPipeline/script(_:keys:arguments:)``.
  public func script(
    _ script: RedisScript, keys: [some RedisArgument], arguments body: (inout RedisArguments) -> Void = { _ in }
  ) async throws(RedisError) -> RedisReply {
    var pipeline = RedisPipeline()
    pipeline.script(script, keys: keys, arguments: body)
    return try await execute(pipeline)[0]
  }

  /// Connects, if it has not happened yet, and says what is wrong if it can't be done. Of a cluster to the server of
  /// ``RedisOptions/home``.
  ///
  /// - Parameter patience: how long to try, instead of the option.
  /// - Returns: what the server said of itself when the connection was made.
  @discardableResult
  public func connect(patience: Duration? = nil) async throws(RedisError) -> RedisServerInfo {
    switch servers {
    case .one(let server): try await server.connect(patience: patience)
    case .cluster(let cluster): try await cluster.connect(patience: patience)
    }
  }

  /// What each server that holds data says of itself now, and on which connection.
  ///
  /// - Parameters:
  ///   - sections: of `INFO`, such as `memory`.
  ///   - patience: for a connection to each, instead of the option.
  /// - Returns: at least one. Of a cluster those that answer: the others serve nobody.
  /// - Throws: when none answers.
  public func sights(
    _ sections: [String] = ["default"], patience: Duration? = nil
  ) async throws(RedisError) -> [RedisServerSight] {
    switch servers {
    case .one(let server): [try await server.sight(sections, patience: patience)]
    case .cluster(let cluster): try await cluster.sights(sections, patience: patience)
    }
  }

  /// Whether the connections there are now, to all servers that hold data, are among these, and none is missing.
  public func isConnected(by admitted: RedisConnections) async -> Bool {
    switch servers {
    case .one(let server): await server.connectionNumber.map(admitted.contains) ?? false
    case .cluster(let cluster): await cluster.isConnected(by: admitted)
    }
  }

  /// What the server of ``RedisOptions/home`` says of itself now.
  ///
  /// - Parameter section: of `INFO`, such as `memory`.
  public func serverInfo(section: String = "default") async throws -> RedisServerInfo {
    RedisServerInfo(parsing: try await command("INFO", section).get().string ?? "")
  }

  /// The clock of the server of ``RedisOptions/home``, in microseconds since 1970.
  public func time() async throws -> Int64 {
    let reply = try await command("TIME").get()
    guard reply.count == 2, let seconds = reply[0].integer, let microseconds = reply[1].integer else {
      throw RedisError(
        .protocolViolation, "TIME was answered with \(reply)", endpoint: url.endpoint,
        hint: "Is it a Redis that listens there?", mayHaveExecuted: true)
    }
    return Int64(seconds) * 1_000_000 + Int64(microseconds)
  }

  /// Ends the connections and everything that waits. Idempotent; the client can't be used again.
  public func close() async {
    switch servers {
    case .one(let server): await server.close()
    case .cluster(let cluster): await cluster.close()
    }
  }
}
