import Glibc
import Redis
import TestKit
import TestSupport
import Testing

@Suite struct RedisClientTests {
  private static let quick = Backoff(base: .milliseconds(1), cap: .milliseconds(20))

  @Test func factsOfTheServerAndItsClock() async throws {
    let client = RedisClient(url: try RedisURL(try await RedisServer.shared.url), options: .unhurried())
    let info = try await client.connect()
    expect(info.version.map { $0 >= RedisVersion(major: 6, minor: 2) }, is: true)
    expect(info.role == .master && info.evictionPolicy == "noeviction" && !info.isLoading)
    expect(try await client.serverInfo().runID, is: info.runID)
    let first = try await client.time()
    let second = try await client.time()
    expect(first > 1_700_000_000_000_000 && second >= first)
    await client.close()
  }

  @Test func callInFlightAtAServerDeathIsInDoubt() async throws {
    let server = try await RedisServer.start()
    let client = RedisClient(
      url: try RedisURL(server.url), options: .unhurried(backoff: Self.quick),
      random: Seed("serverDies"))
    let before = try await client.connect()
    let blocked = Task {
      var pipeline = RedisPipeline()
      pipeline.append("BLPOP", "nothing", 0)
      return try await client.execute(pipeline, timeout: .seconds(60))
    }
    try await poll(until: "a client is blocked") {
      try await server.command("info", "clients").contains("blocked_clients:1")
    }
    await server.kill(SIGKILL)
    let error = await #expect(throws: RedisError.self) { _ = try await blocked.value }
    expect(error?.code == .closed && error?.mayHaveExecuted == true)

    let waiting = Task { try await client.command("ECHO", "again") }
    try await server.restart()
    expect(try await waiting.value.string, is: "again")
    expect(try await client.serverInfo().runID != before.runID)
    await client.close()
  }

  @Test func lateAnswerIsNeverMistakenForAnother() async throws {
    let server = try await RedisServer.start()
    let client = RedisClient(
      url: try RedisURL(server.url), options: .unhurried(backoff: Self.quick))
    let first = try await client.command("CLIENT", "ID").integer
    await server.kill(SIGSTOP)
    var pipeline = RedisPipeline()
    pipeline.append("ECHO", "stale")
    let stale = pipeline
    let error = await #expect(throws: RedisError.self) {
      _ = try await client.execute(stale, timeout: .milliseconds(30))
    }
    expect(error?.code == .answerTimeout && error?.mayHaveExecuted == true)
    await server.kill(SIGCONT)
    expect(try await client.command("ECHO", "fresh").string, is: "fresh")
    expect(try await client.command("CLIENT", "ID").integer != first)
    await client.close()
  }

  @Test func callWithoutPatienceFailsImmediatelyWithTheReason() async throws {
    let server = try await RedisServer.start()
    let client = RedisClient(url: try RedisURL(server.url), options: .unhurried(backoff: Self.quick))
    try await client.connect()
    await server.stop()
    var pipeline = RedisPipeline()
    pipeline.append("PING")
    // The first call may still use the dying connection. After that there is none.
    let call = pipeline
    await #expect(throws: RedisError.self) { _ = try await client.execute(call, waitTimeout: .zero) }
    let error = await #expect(throws: RedisError.self) { _ = try await client.execute(call, waitTimeout: .zero) }
    expect(error?.mayHaveExecuted == false && error?.endpoint == "127.0.0.1:\(server.port)")
    // The loss of the connection is the reason until the first new attempt has failed.
    var last = error
    while last?.code == .closed {
      last = await #expect(throws: RedisError.self) {
        _ = try await client.execute(call, waitTimeout: .milliseconds(5))
      }
    }
    expect(last?.code == .connectionRefused && last?.mayHaveExecuted == false)
    await client.close()
  }

  @Test func wrongPasswordDoesNotUseUpThePatience() async throws {
    let server = try await RedisServer.start(password: "right")
    let client = RedisClient(
      url: try RedisURL("redis://:wrong@127.0.0.1:\(server.port)"), options: .unhurried())
    let error = await #expect(throws: RedisError.self) { try await client.connect() }
    expect(error?.code == .authentication && "\(String(describing: error))".contains("wrong@") == false)
    await client.close()
  }

  @Test func callsThatWaitForAConnectionAllArriveOnce() async throws {
    let server = try await RedisServer.start()
    let client = RedisClient(
      url: try RedisURL(server.url), options: .unhurried(backoff: Self.quick))
    try await client.connect()
    await server.stop()
    let calls = (0..<50).map { value in Task { try await client.command("RPUSH", "order", value).integer } }
    try await server.restart()
    // A call that was written before the client knew that its connection was dead fails as in doubt and is not
    // repeated.
    var doubtful = 0
    for call in calls {
      do {
        _ = try await call.value
      } catch let error as RedisError where error.mayHaveExecuted {
        doubtful += 1
      }
    }
    expect(doubtful < 50)
    expect(try await client.command("LLEN", "order").integer, is: 50 - doubtful)
    await client.close()
  }

  @Test func closedClientFailsEveryCall() async throws {
    let server = try await FakeServer([FakeServer.welcome])
    let client = RedisClient(url: try RedisURL("redis://127.0.0.1:\(server.port)"), options: .unhurried())
    try await client.connect()
    let inFlight = Task { try await client.command("PING") }
    await client.close()
    await client.close()
    await #expect(throws: RedisError.self) { _ = try await inFlight.value }
    let error = await #expect(throws: RedisError.self) { _ = try await client.command("PING") }
    expect(error?.code == .closed && error?.mayHaveExecuted == false)
  }

  @Test func closingEndsTheWaitForAConnection() async throws {
    let server = try await FakeServer([])
    let client = RedisClient(
      url: try RedisURL("redis://127.0.0.1:\(server.port)"), options: .unhurried())
    let waiting = Task { try await client.command("PING") }
    await server.receivedBytes()
    await client.close()
    let error = await #expect(throws: RedisError.self) { _ = try await waiting.value }
    expect(error?.code, is: .closed)
  }

  @Test func cancelledCallStopsWaitingForAConnection() async throws {
    let server = try await FakeServer([])
    let client = RedisClient(
      url: try RedisURL("redis://127.0.0.1:\(server.port)"), options: .unhurried())
    let waiting = Task { try await client.command("PING") }
    await server.receivedBytes()
    waiting.cancel()
    let error = await #expect(throws: RedisError.self) { _ = try await waiting.value }
    expect(error?.code == .cancelled && error?.mayHaveExecuted == false)
    await client.close()
  }

  @Test func replicaRefusesWritesAsData() async throws {
    let master = try await RedisServer.start()
    let replica = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1", String(master.port)])
    let client = RedisClient(url: try RedisURL(replica.url), options: .unhurried())
    expect(try await client.connect().role, is: .replica)
    expect(try await client.command("SET", "k", "v").error?.code, is: .readOnly)
    await client.close()
  }
}
