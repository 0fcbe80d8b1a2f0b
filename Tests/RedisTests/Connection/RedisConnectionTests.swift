import EventLoop
import TestKit
import TestSupport
import Testing

@testable import Redis

@Suite struct RedisConnectionTests {
  @Test func refusalIsDataAndStopsNothing() async throws {
    let connection = try await RedisConnection.connect(to: try await url("errors"), options: .unhurried())
    var pipeline = RedisPipeline()
    pipeline.append("SET", "errors:k", "text")
    pipeline.append("LPUSH", "errors:k", 1)
    pipeline.append("NOSUCHCOMMAND")
    pipeline.append("GET", "errors:k")
    let replies = try await connection.execute(pipeline)
    expect(replies[0].string == "OK" && replies[3].string == "text")
    expect(replies[1].error?.code == .wrongType && replies[2].error?.code == .generic)
    await connection.close()
  }

  @Test func thousandsOfCommandsAreAnsweredInOrder() async throws {
    let connection = try await RedisConnection.connect(to: try await url(), options: .unhurried())
    var pipeline = RedisPipeline()
    for value in 0..<20_000 { pipeline.append("ECHO", value) }
    let replies = try await connection.execute(pipeline)
    expect(replies.count, is: 20_000)
    expect(replies.enumerated().allSatisfy { $0.element.integer == $0.offset })
    await connection.close()
  }

  @Test func concurrentCallsEachGetTheirOwnAnswers() async throws {
    let connection = try await RedisConnection.connect(to: try await url(), options: .unhurried())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for call in 0..<500 {
        group.addTask {
          var pipeline = RedisPipeline()
          for part in 0..<(1 + call % 7) { pipeline.append("ECHO", call * 10 + part) }
          let replies = try await connection.execute(pipeline)
          expect(replies.map(\.integer), is: (0..<(1 + call % 7)).map { call * 10 + $0 })
        }
      }
      try await group.waitForAll()
    }
    await connection.close()
  }

  @Test func megabytesAreSentAndReceived() async throws {
    let connection = try await RedisConnection.connect(to: try await url(), options: .unhurried())
    // The value is larger than all buffers on the connection together.
    let value = (0..<(6 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var pipeline = RedisPipeline()
    pipeline.append("SET", "megabytes", value)
    pipeline.append("GET", "megabytes")
    pipeline.append("DEL", "megabytes")
    let replies = try await connection.execute(pipeline)
    expect(replies[1].bytes, is: value[...])
    await connection.close()
  }

  @Test func passwordUserAndDatabaseAreHonoured() async throws {
    let server = try await RedisServer.start(password: "p@ss")
    try await server.command("acl", "setuser", "app", "on", ">w/rd", "~*", "+@all")
    let plain = "127.0.0.1:\(server.port)"
    let connection = try await RedisConnection.connect(
      to: try RedisURL("redis://app:w%2Frd@\(plain)/7"), options: .unhurried())
    var pipeline = RedisPipeline()
    pipeline.append("ACL", "WHOAMI")
    pipeline.append("CLIENT", "INFO")
    let replies = try await connection.execute(pipeline)
    expect(replies[0].string, is: "app")
    let info = try #require(replies[1].string)
    expect(info.contains(" db=7 ") && info.contains(" name=carillon "))
    await connection.close()

    try await RedisConnection.connect(to: try RedisURL("redis://:p%40ss@\(plain)"), options: .unhurried()).close()
    expect(await failure(to: "redis://\(plain)")?.code, is: .authentication)
    expect(await failure(to: "redis://:wrong@\(plain)")?.code, is: .authentication)
    expect(await failure(to: "redis://:p%40ss@\(plain)/99")?.code, is: .refused)
  }

  @Test func serverThatNeverAnswersIsAConnectTimeout() async throws {
    let server = try await FakeServer([])
    let error = await failure(to: "redis://127.0.0.1:\(server.port)", timeout: .milliseconds(30))
    expect(error?.code == .connectTimeout && error?.mayHaveExecuted == false)
    expect(await server.connections, is: 1)
  }

  @Test func connectionToAClosedPortIsRefused() async {
    // Port 1 (tcpmux) is used because another test may take a port that was free a moment ago.
    expect(await failure(to: "redis://127.0.0.1:1")?.code, is: .connectionRefused)
  }

  @Test func nameWithoutAddressIsUnknown() async {
    expect(await failure(to: "redis://no-such-host.invalid")?.code, is: .unknownHost)
  }

  @Test func secondAddressOfANameIsTriedToo() async throws {
    // On Debian the first address of `localhost` is ::1, where the test servers don't listen.
    let server = try await FakeServer([FakeServer.welcome])
    try await RedisConnection.connect(to: try RedisURL("redis://localhost:\(server.port)"), options: .unhurried())
      .close()
    expect(await server.connections, is: 1)
  }

  @Test func timedOutConnectionFailsEverythingAndStaysDead() async throws {
    let server = try await FakeServer([FakeServer.welcome])
    let connection = try await RedisConnection.connect(
      to: try RedisURL("redis://127.0.0.1:\(server.port)"), options: .unhurried())
    let patient = Task { try await connection.execute(Self.ping, timeout: .seconds(60)) }
    let hasty = Task { try await connection.execute(Self.ping, timeout: .milliseconds(20)) }
    let first = await #expect(throws: RedisError.self) { _ = try await patient.value }
    let second = await #expect(throws: RedisError.self) { _ = try await hasty.value }
    expect(second?.code == .answerTimeout && second?.mayHaveExecuted == true)
    expect(first?.mayHaveExecuted == true || first?.code == .closed)
    let later = await #expect(throws: RedisError.self) { _ = try await connection.execute(Self.ping) }
    expect(later?.code == .closed && later?.mayHaveExecuted == false)
  }

  @Test(arguments: ["+OK\r\n+ONE TOO MANY\r\n", "<html>\r\n"])
  func invalidReplyEndsTheConnection(answer: String) async throws {
    let server = try await FakeServer([FakeServer.welcome, .send(answer)])
    let connection = try await RedisConnection.connect(
      to: try RedisURL("redis://127.0.0.1:\(server.port)"), options: .unhurried())
    let dead = Signal<RedisError>()
    await connection.whenDead { dead.send($0) }
    _ = try? await connection.execute(Self.ping)
    expect(await dead.value.code, is: .protocolViolation)
    await #expect(throws: RedisError.self) { _ = try await connection.execute(Self.ping) }
  }

  @Test func reasonOfARejectedConnectionIsReported() async throws {
    let server = try await RedisServer.start(arguments: ["--maxclients", "1"])
    let holder = try await RedisConnection.connect(to: try RedisURL(server.url), options: .unhurried())
    let error = await failure(to: server.url)
    expect(error?.message.contains("max number of clients"), is: true, "\(String(describing: error))")
    await holder.close()
  }

  @Test func cancelledCallIsNotSentUnlessItWasAlready() async throws {
    let server = try await RedisServer.start()
    let connection = try await RedisConnection.connect(to: try RedisURL(server.url), options: .unhurried())
    let blocked = Task {
      var pipeline = RedisPipeline()
      pipeline.append("BLPOP", "nothing", 0)
      let answered = try await connection.execute(pipeline, timeout: .seconds(60))
      let error = await #expect(throws: RedisError.self) { _ = try await connection.execute(Self.ping) }
      expect(error?.code == .cancelled && error?.mayHaveExecuted == false)
      return answered
    }
    try await poll(until: "a client is blocked") {
      try await server.command("info", "clients").contains("blocked_clients:1")
    }
    blocked.cancel()
    try await server.command("rpush", "nothing", "late")
    expect(try await blocked.value[0][1].string, is: "late")
    let replies = try await connection.execute(Self.ping)
    expect(replies[0].string, is: "PONG")
    await connection.close()
  }

  @Test func closingFailsWhatIsInFlight() async throws {
    let server = try await FakeServer([FakeServer.welcome])
    let connection = try await RedisConnection.connect(
      to: try RedisURL("redis://127.0.0.1:\(server.port)"), options: .unhurried())
    let call = Task { try await connection.execute(Self.ping) }
    await connection.close()
    await connection.close()
    let error = await #expect(throws: RedisError.self) { _ = try await call.value }
    expect(error?.code, is: .closed)
  }

  private static let ping: RedisPipeline = {
    var pipeline = RedisPipeline()
    pipeline.append("PING")
    return pipeline
  }()

  private func url(_ prefix: String = "") async throws -> RedisURL { try RedisURL(try await RedisServer.shared.url) }

  private func failure(to url: String, timeout: Duration = .seconds(60)) async -> RedisError? {
    do throws(RedisError) {
      let connection = try await RedisConnection.connect(
        to: try RedisURL(url), options: RedisOptions(connectTimeout: timeout))
      await connection.close()
      return nil
    } catch {
      return error
    }
  }
}
