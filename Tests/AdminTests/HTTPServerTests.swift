import Glibc
import HTTPServer
import Synchronization
import TestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(6))) struct HTTPServerTests {
  /// Answers with the result of a closure. Bodies have at most 1,000 bytes. `/probe` is a health probe, and the work of
  /// `/read` ends when its client disconnects.
  private struct Handler: HTTPHandler {
    var answer: @Sendable (HTTPRequest) async -> HTTPResponse

    func admit(_ request: HTTPRequest) -> HTTPAdmission {
      request.path == ["refused"]
        ? .refuse(.init(403, "no", type: "text/plain"))
        : .accept(
          HTTPTerms(bodyLimit: 1000, isProbe: request.path == ["probe"], endsWithClient: request.path == ["read"]))
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse { await answer(request) }

    func refusal(status: Int, reason: String) -> HTTPResponse { .init(status, reason, type: "text/plain") }
  }

  private func serve(
    _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = { _ in
      .init(200, "hello", type: "text/plain")
    }, with change: (inout HTTPServerOptions) -> Void = { _ in }
  ) throws -> HTTPServer {
    var options = HTTPServerOptions(host: "127.0.0.1", port: 0)
    change(&options)
    return try HTTPServer(options, handler: Handler(answer: answer))
  }

  @Test func pathAndQueryAreDecodedPieceByPiece() async throws {
    let server = try serve { request in
      let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ";")
      return .init(200, "\(request.path) \(query)", type: "text/plain")
    }
    let answer = try await RawClient.exchange(
      "GET /a%2Fb/%C3%A9?x=1%262&y=a+b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: server.port)
    expect(answer.hasPrefix("HTTP/1.1 200 OK") && answer.hasSuffix(#"["a/b", "é"] x=1&2;y=a b"#), "\(answer)")
    for path in ["/%ff", "/%", "/%0a", "/a?x=%zz"] {
      let answer = try await RawClient.exchange(
        "GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: server.port)
      expect(answer.hasPrefix("HTTP/1.1 400"), "\(path): \(answer)")
    }
    await server.stop(within: .seconds(1))
  }

  @Test func oneConnectionHasManyRequests() async throws {
    let server = try serve { request in .init(200, "<\(request.body.count)>", type: "text/plain") }
    let client = try RawClient(port: server.port)
    for size in [0, 1, 1000] {
      await client.send(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n" + String(repeating: "b", count: size))
      expect(await client.read(until: ">").hasSuffix("<\(size)>"))
    }
    await server.stop(within: .seconds(1))
  }

  @Test("a body that is too large gets a 413 and is not stored, with or without Content-Length")
  func bodyLimit() async throws {
    let server = try serve()
    let body = String(repeating: "b", count: 1001)
    for request in [
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1001\r\n\r\n" + body,
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 999999999999\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n\(body)\r\n0\r\n\r\n",
    ] {
      let answer = try await RawClient.exchange(request, port: server.port)
      expect(answer.hasPrefix("HTTP/1.1 413"), "\(answer)")
    }
    await server.stop(within: .seconds(1))
  }

  @Test("the server stops reading an endless body")
  func endlessBody() async throws {
    let server = try serve()
    let client = try RawClient(port: server.port)
    await client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    let chunk = "10000\r\n" + String(repeating: "b", count: 65536) + "\r\n"
    var chunks = 0
    while await client.send(chunk) {
      chunks += 1
      if chunks > 1000 { break }
    }
    expect(chunks < 200)
    await server.stop(within: .seconds(1))
  }

  @Test func headersBeyondTheMemoryOfAConnectionAreRefused() async throws {
    let server = try serve(with: { $0.memoryPerConnection = 8192 })
    let answer = try await RawClient.exchange(
      "GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 20_000))\r\n\r\n", port: server.port)
    expect(answer.hasPrefix("HTTP/1.1 431") || answer.hasPrefix("HTTP/1.1 413"), "\(answer.prefix(100))")
    await server.stop(within: .seconds(1))
  }

  @Test("the server closes a connection whose request takes too long, even if bytes still arrive")
  func slowRequest() async throws {
    let server = try serve(with: { $0.requestDeadline = 0.4 })
    let client = try RawClient(port: server.port)
    await client.send("GET / HTTP/1.1\r\nHost: x\r\n")
    // Returns when the server closes the connection. The client sends bytes in each round trip, so the idle timeout
    // never occurs.
    let end = Task { await client.read() }
    try await poll(until: "the server closes the connection", every: .milliseconds(5)) {
      let isSent = await client.send("X: y\r\n")
      return !isSent || server.connections == 0
    }
    let answer = await end.value
    // On a slow machine, the limit for headers may come before the deadline.
    expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
    await server.stop(within: .seconds(1))
  }

  @Test("the deadline for requests does not end a long answer")
  func slowAnswer() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let server = try serve(
      { _ in
        for await _ in gate { break }
        return .init(200, "late", type: "text/plain")
      }, with: { $0.requestDeadline = 0.2 })
    let client = try RawClient(port: server.port)
    await client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    // The server has closed this later connection, so the deadline of the first one has passed too.
    let silent = try RawClient(port: server.port)
    expect(await silent.read().isEmpty)
    open.yield()
    expect(await client.read().hasSuffix("late"))
    await server.stop(within: .seconds(1))
  }

  @Test("with 400 idle connections, a new one replaces the one that was idle longest")
  func idleConnections() async throws {
    // No other limit ends these connections during the test.
    let server = try serve(with: { options in
      (options.connections, options.spareConnections) = (8, 4)
      (options.idleTimeout, options.requestDeadline) = (600, 600)
    })
    var idle: [RawClient] = []
    for number in 1...400 {
      let client = try RawClient(port: server.port)
      idle.append(client)
      // Some clients have begun a request, others have received an answer.
      if number.isMultiple(of: 3) { await client.send("GET / HTTP/1.1\r\nHost: x\r\nX: ") }
    }
    for source in ["127.0.0.1", "127.0.0.2"] {
      let client = try RawClient(port: server.port, source: source)
      await client.send(Self.get)
      expect(await client.read(until: "hello").contains("200"))
      idle.append(client)
    }
    expect(server.connections <= 12)
    expect(await idle[0].read().isEmpty)
    withExtendedLifetime(idle) {}
    await server.stop(within: .seconds(1))
  }

  @Test("many connections from one address close only idle ones of that address")
  func crowd() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let server = try serve(
      { request in
        guard request.path == ["late"] else { return .init(200, "hello", type: "text/plain") }
        begin.yield()
        for await _ in gate { break }
        return .init(200, "at last", type: "text/plain")
      },
      with: { options in
        (options.connections, options.spareConnections) = (6, 4)
        (options.idleTimeout, options.requestDeadline) = (600, 600)
      })
    let working = try RawClient(port: server.port)
    await working.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
    _ = await begun.first { _ in true }
    // This connection is idle and older than all connections of the crowd.
    let quiet = try RawClient(port: server.port, source: "127.0.0.2")
    await quiet.send(Self.get)
    expect(await quiet.read(until: "hello").contains("200"))
    var crowd: [RawClient] = []
    for _ in 0..<50 { crowd.append(try RawClient(port: server.port)) }
    expect(await crowd[0].read().isEmpty)
    await quiet.send(Self.get)
    expect(await quiet.read(until: "hello").contains("200"))
    open.yield()
    expect(await working.read(until: "at last").contains("200"))
    withExtendedLifetime(crowd) {}
    await server.stop(within: .seconds(1))
  }

  @Test("beyond the maximum of parallel requests, a request gets a 503 and a health check its answer")
  func requestLimit() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let gate = Gate()
    let server = try serve(
      { request in
        guard request.path == ["late"] else { return .init(200, "hello", type: "text/plain") }
        begin.yield()
        await gate.wait()
        return .init(200, "at last", type: "text/plain")
      }, with: { $0.requests = 3 })
    var starts = begun.makeAsyncIterator()
    var working: [RawClient] = []
    for _ in 0..<3 {
      let client = try RawClient(port: server.port)
      await client.send("GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      working.append(client)
      _ = await starts.next()
    }
    expect(try await RawClient.exchange(Self.lastGet, port: server.port).hasPrefix("HTTP/1.1 503"))
    let probe = Self.lastGet.replacing("GET /", with: "GET /probe")
    expect(try await RawClient.exchange(probe, port: server.port).hasSuffix("hello"))
    gate.open()
    for client in working { expect(await client.read().hasSuffix("at last")) }
    expect(try await RawClient.exchange(Self.lastGet, port: server.port).hasSuffix("hello"))
    await server.stop(within: .seconds(1))
  }

  @Test("a reading operation ends when its client has left; a changing one does not")
  func clientGone() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (ended, end) = AsyncStream.makeStream(of: Bool.self)
    let gate = Gate()
    let server = try serve { request in
      begin.yield()
      if request.path == ["read"] {
        // Waits until it is cancelled.
        for await _ in AsyncStream<Void>.makeStream().stream {}
      } else {
        await gate.wait()
      }
      end.yield(Task.isCancelled)
      return .init(200, "nobody reads it", type: "text/plain")
    }
    var (starts, ends) = (begun.makeAsyncIterator(), ended.makeAsyncIterator())
    for path in ["/change", "/read"] {
      let client = try RawClient(port: server.port)
      await client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
      _ = await starts.next()
    }
    expect(await ends.next(), is: true)
    gate.open()
    expect(await ends.next(), is: false)
    await server.stop(within: .seconds(1))
  }

  private static let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
  private static let lastGet = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  /// A gate that lets all callers pass after it has opened, also cancelled ones.
  private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen { state.waiting.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }

    func open() {
      let waiting = state.withLock { state in
        state.isOpen = true
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  @Test func bodiesOfAllConnectionsTogetherAreBounded() async throws {
    let server = try serve(with: { $0.bodyMemory = 1500 })
    let first = try RawClient(port: server.port)
    let body = String(repeating: "b", count: 1000)
    // This request holds its memory until its body is complete.
    await first.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + body.dropLast())
    let request = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" + body
    var answer = ""
    repeat { answer = try await RawClient.exchange(request, port: server.port) } while answer.contains(" 200 ")
    expect(answer.hasPrefix("HTTP/1.1 503"))
    await first.send("b")
    expect(await first.read(until: "hello").contains("200"))
    repeat { answer = try await RawClient.exchange(request, port: server.port) } while answer.contains(" 503 ")
    expect(answer.hasPrefix("HTTP/1.1 200"))
    await server.stop(within: .seconds(1))
  }

  @Test("a stream is written as fast as the client reads it, and arrives completely")
  func stream() async throws {
    let written = Mutex(0)
    let (count, piece) = (200, [UInt8](repeating: UInt8(ascii: "s"), count: 100_000))
    let server = try serve { _ in
      .init(
        200,
        body: .stream { writer in
          for _ in 0..<count {
            try await writer.write(piece)
            written.withLock { $0 += 1 }
          }
        })
    }
    let client = try RawClient(port: server.port)
    await client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    _ = await client.read(until: "ssss", limit: 1)
    // The sockets can hold some megabytes; the server can write more only after the client reads.
    expect(written.withLock { $0 } < count)
    let rest = await client.read()
    expect(rest.utf8.count { $0 == UInt8(ascii: "s") } > (count - 2) * piece.count)
    expect(written.withLock { $0 }, is: count)
    await server.stop(within: .seconds(1))
  }

  @Test func streamThatFailsIsCutSoThatTheClientSeesIt() async throws {
    let server = try serve { _ in
      .init(
        200,
        body: .stream { writer in
          try await writer.write(Array("part".utf8))
          throw TestSupportError("the rest is missing")
        })
    }
    let answer = try await RawClient.exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n", port: server.port)
    // RFC 9112 section 8: a chunked body without its last chunk is incomplete.
    expect(answer.contains("part") && !answer.hasSuffix("0\r\n\r\n"))
    await server.stop(within: .seconds(1))
  }

  @Test func streamEndsWhenItsReaderGoesAway() async throws {
    let (ended, end) = AsyncStream.makeStream(of: Bool.self)
    let server = try serve { _ in
      .init(
        200,
        body: .stream { writer in
          do {
            while true { try await writer.write([UInt8](repeating: 0, count: 100_000)) }
          } catch {
            end.yield(true)
          }
        })
    }
    do {
      let client = try RawClient(port: server.port)
      await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      _ = await client.read(until: "\r\n\r\n", limit: 1)
    }
    expect(await ended.first { _ in true }, is: true)
    await server.stop(within: .seconds(1))
  }

  @Test("a stop completes the requests in progress and frees the port")
  func gracefulStop() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let server = try serve { _ in
      begin.yield()
      for await _ in gate { break }
      return .init(200, "at last", type: "text/plain")
    }
    let client = try RawClient(port: server.port)
    await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    _ = await begun.first { _ in true }
    let stopping = Task { await server.stop(within: .seconds(20)) }
    open.yield()
    let answer = await client.read()
    expect(answer.hasSuffix("at last"))
    await stopping.value
    #expect(throws: TestSupportError.self) { try RawClient(port: server.port) }
    await server.stop(within: .seconds(1))
  }

  @Test("after its deadline a stop ends requests that hang")
  func stopWithDeadline() async throws {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let server = try serve { _ in
      begin.yield()
      // Waits until it is cancelled.
      for await _ in AsyncStream<Void>.makeStream().stream {}
      return .init(200, "never", type: "text/plain")
    }
    let client = try RawClient(port: server.port)
    await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    _ = await begun.first { _ in true }
    await server.stop(within: .milliseconds(10))
    expect(await client.read().isEmpty)
  }

  @Test func refusedRequestIsAnsweredThoughItHasABody() async throws {
    let server = try serve()
    let answer = try await RawClient.exchange(
      "POST /refused HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", port: server.port)
    expect(answer.hasPrefix("HTTP/1.1 403"))
    await server.stop(within: .seconds(1))
  }

  @Test func listensOnBothKindsOfAddresses() async throws {
    let server = try serve(with: { $0.host = "::" })
    for host in ["::1", "127.0.0.1"] {
      let answer = try await RawClient.exchange(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port: server.port, host: host)
      expect(answer.hasSuffix("hello"))
    }
    await server.stop(within: .seconds(1))
  }

  @Test func invalidKeyIsAnErrorWithItsCause() {
    let identity = HTTPServerOptions.Identity(certificateChain: "no certificate", key: "no key")
    let error = #expect(throws: HTTPServerError.self) { try self.serve(with: { $0.identity = identity }) }
    expect(error?.description.contains("check that the certificate is PEM and that the key belongs to it"), is: true)
  }

  @Test func takenPortAndNoAddressAreErrorsThatNameThem() async throws {
    let server = try serve()
    let error = #expect(throws: HTTPServerError.self) { try self.serve(with: { $0.port = server.port }) }
    expect(error?.description, is: "can't listen on 127.0.0.1:\(server.port): Address already in use")
    #expect(throws: HTTPServerError.self) { try self.serve(with: { $0.host = "example" }) }
    await server.stop(within: .seconds(1))
  }
}
