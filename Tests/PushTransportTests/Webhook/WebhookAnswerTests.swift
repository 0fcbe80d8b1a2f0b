import Glibc
import TestKit
import TestSupport
import Testing

@testable import PushTransport

/// The answer of a webhook ends with its headers, so its receiver can't delay the worker with a body or fill the
/// memory.
@Suite(.timeLimit(.minutes(6)))
struct WebhookAnswerTests {
  private func webhook(_ server: RawServer) -> Webhook {
    Webhook(name: "w", url: "http://127.0.0.1:\(server.port)/", secret: [1], allowsPrivate: true)
  }

  /// A body without end, and a body that is announced and never comes.
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
  ])
  func answerEndsWithItsHeaders(head: String) async throws {
    let server = try RawServer { client in
      guard RawServer.readHead(of: client) != nil, RawServer.write(head, to: client) else { return }
      if head.contains("chunked") {
        let chunk = "10000\r\n" + String(repeating: "x", count: 1 << 16) + "\r\n"
        while RawServer.write(chunk, to: client) {}
      } else {
        // Waits until the other end has closed the connection.
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) == 1 {}
      }
    }
    defer { server.stop() }
    // If the worker waited for the body, the delivery would fail with a timeout.
    expect(await webhook(server).deliver(event: "1-0", body: Array("{}".utf8), timestamp: 1), is: nil)
  }

  @Test func refusalIsReportedDespiteAnEndlessBody() async throws {
    let server = try RawServer { client in
      guard RawServer.readHead(of: client) != nil else { return }
      var isOpen = RawServer.write("HTTP/1.1 503 Busy\r\ntransfer-encoding: chunked\r\n\r\n", to: client)
      while isOpen { isOpen = RawServer.write("4\r\nbusy\r\n", to: client) }
    }
    defer { server.stop() }
    expect(await webhook(server).deliver(event: "1-0", body: [], timestamp: 1), is: "status 503")
  }

  /// A reader of the body gets at most its first 64 kB.
  @Test func bodyIsReadUpToItsBound() async throws {
    let server = try RawServer { client in
      guard RawServer.readHead(of: client) != nil else { return }
      var isOpen = RawServer.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", to: client)
      let chunk = "10000\r\n" + String(repeating: "x", count: 1 << 16) + "\r\n"
      while isOpen { isOpen = RawServer.write(chunk, to: client) }
    }
    defer { server.stop() }
    let response = try await HTTPExchange.perform(
      .init(method: "GET", path: "", headers: []),
      at: PushEndpoint(verbatim: "http://127.0.0.1:\(server.port)/", trustRoots: nil),
      reach: .direct)
    expect(response.status == 200 && response.body == Array(repeating: UInt8(ascii: "x"), count: 1 << 16))
  }
}
