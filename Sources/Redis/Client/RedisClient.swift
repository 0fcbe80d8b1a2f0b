public import EventLoop

/// Client of Redis: of a single server, of the primary that sentinels name, or of a cluster. It has at most one
/// connection to each server at a time.
///
/// The first call connects. The client replaces a lost connection, and repeats failed attempts with growing, jittered
/// pauses until ``close()``. If the connection is lost, calls in flight fail with ``RedisError/mayHaveExecuted`` set.
/// Unsent calls move to the next connection until their wait timeout ends.
///
/// In a cluster, the parts of a pipeline go to the servers of their keys' slots, see ``ClusterClient``. A command
/// without a key goes to the server of the previous command in the pipeline. If there is none, it goes to the server of
/// ``RedisOptions/home``.
///
/// A blocking command (`BLMOVE`) blocks all later commands: use a separate client with a longer timeout for it.
public final class RedisClient: Sendable {
  enum Servers {
    case one(ServerClient)
    case cluster(ClusterClient)
  }

  /// URL of the server.
  public let url: RedisURL
  let options: RedisOptions
  let servers: Servers

  /// - Parameters:
  ///   - url: address and login.
  ///   - options: timeouts and backoff.
  ///   - scripts: the scripts to load on every new connection before its first call. Other scripts are loaded at their
  ///     first call.
  ///   - random: the source of jitter.
  ///   - loop: the loop of the client. Calls from an actor on the same loop need not wake a thread.
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
  ///   - pipeline: the commands; an empty pipeline is answered immediately.
  ///   - timeout: timeout for the answers, instead of ``RedisOptions/answerTimeout``.
  ///   - waitTimeout: time to wait for a connection if there is none, instead of ``RedisOptions/waitTimeout``; zero
  ///     fails immediately.
  ///   - admitted: the connections that the call may use, from ``serverStates(_:waitTimeout:)``. On any other
  ///     connection, the call fails with ``RedisError/Code/reconnected``. Use this if you must first check whether a
  ///     server has lost data.
  /// - Returns: one reply per command, in the order of the commands. If Redis refuses a command, the refusal is its
  ///   reply.
  public func execute(
    _ pipeline: RedisPipeline, timeout: Duration? = nil, waitTimeout: Duration? = nil,
    on admitted: RedisConnections? = nil
  ) async throws(RedisError) -> [RedisReply] {
    switch servers {
    case .one(let server):
      try await server.execute(pipeline, timeout: timeout, waitTimeout: waitTimeout, on: admitted)
    case .cluster(let cluster):
      try await cluster.execute(pipeline, timeout: timeout, waitTimeout: waitTimeout, on: admitted)
    }
  }

  /// Sends one command and waits for its answer; see ``execute(_:timeout:waitTimeout:on:)``.
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

  /// Connects if the client is not connected yet. If all attempts fail, throws the error of the last attempt. In a
  /// cluster, the client connects to the server of ``RedisOptions/home``.
  ///
  /// - Parameter waitTimeout: time for all attempts, instead of ``RedisOptions/waitTimeout``.
  /// - Returns: the server's `INFO` from the beginning of the connection.
  @discardableResult
  public func connect(waitTimeout: Duration? = nil) async throws(RedisError) -> RedisServerInfo {
    switch servers {
    case .one(let server): try await server.connect(waitTimeout: waitTimeout)
    case .cluster(let cluster): try await cluster.connect(waitTimeout: waitTimeout)
    }
  }

  /// Returns the present `INFO` of each server with data, and the number of its connection.
  ///
  /// - Parameters:
  ///   - sections: sections of `INFO`, such as `memory`.
  ///   - waitTimeout: time to wait for a connection to each server, instead of ``RedisOptions/waitTimeout``.
  /// - Returns: the states of at least one server. In a cluster, servers that do not answer are left out, because they
  ///   serve no client.
  /// - Throws: an error if no server answers.
  public func serverStates(
    _ sections: [String] = ["default"], waitTimeout: Duration? = nil
  ) async throws(RedisError) -> [RedisServerState] {
    switch servers {
    case .one(let server): [try await server.serverState(sections, waitTimeout: waitTimeout)]
    case .cluster(let cluster): try await cluster.serverStates(sections, waitTimeout: waitTimeout)
    }
  }

  /// Returns whether all servers with data have a connection now, and all these connections are in the set `admitted`.
  public func isConnected(by admitted: RedisConnections) async -> Bool {
    switch servers {
    case .one(let server): await server.connectionNumber.map(admitted.contains) ?? false
    case .cluster(let cluster): await cluster.isConnected(by: admitted)
    }
  }

  /// Returns the present `INFO` of the server of ``RedisOptions/home``.
  ///
  /// - Parameter section: a section of `INFO`, such as `memory`.
  public func serverInfo(section: String = "default") async throws -> RedisServerInfo {
    RedisServerInfo(parsing: try await command("INFO", section).get().string ?? "")
  }

  /// Returns the clock of the server of ``RedisOptions/home``, in microseconds since 1970.
  public func time() async throws -> Int {
    let reply = try await command("TIME").get()
    guard let time = reply.time else {
      throw RedisError(
        .protocolViolation, "TIME was answered with \(reply)", endpoint: url.endpoint,
        hint: "Check that a Redis server listens at this address.", mayHaveExecuted: true)
    }
    return time
  }

  /// Closes the connections and fails all waiting calls. Idempotent. After this call, the client can't be used again.
  public func close() async {
    switch servers {
    case .one(let server): await server.close()
    case .cluster(let cluster): await cluster.close()
    }
  }
}
