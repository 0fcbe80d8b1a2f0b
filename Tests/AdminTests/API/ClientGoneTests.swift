import CampaignStore
import Foundation
import HTTPServer
import PushCore
import ServiceTools
import TestKit
import TestSupport
import Testing

@testable import Admin
@testable import CommandSupport
@testable import carillon

/// If a client disconnects, the server ends the work for its request, and not only the answer.
@Suite(.timeLimit(.minutes(6))) struct ClientGoneTests {
  private static let apps = JobApps.any(KnownServices.all.tools.map(\.service))
  private static let job =
    #"{"id":"a","app":"news","audience":{"segment":"*"},"message":{"body":"Hello"},"template":"welcome"}"#

  /// The end of a request's work.
  private enum End: Equatable {
    case completed, cancelled
    case failed(String)
  }

  /// Runs the work of a request on a thread of the pool until its client has gone.
  ///
  /// - Parameters:
  ///   - work: gets the body of the request and a function that returns when the work is cancelled.
  /// - Returns: how the work ended.
  private func ending(
    of work: @escaping @Sendable ([UInt8], @escaping @Sendable () async -> Void) async throws -> Void
  ) async throws -> End? {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (ended, end) = AsyncStream.makeStream(of: End.self)
    let pool = ComputePool(lanes: 2, timeout: .seconds(100))
    let token = AccessTokens.make()
    let tokens = try AccessTokens(parsing: AccessTokens.line(name: "looker", scopes: [.view], token: token))
    let route = Route("POST", "/lint", .view, bodyLimit: 1 << 20) { call in
      try await pool.run(for: "looker") {
        do {
          try await work(call.request.body) {
            begin.yield()
            // Ends when the task is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
          }
          end.yield(.completed)
        } catch is CancellationError {
          end.yield(.cancelled)
        } catch {
          end.yield(.failed("\(error)"))
        }
        return .init(204)
      }
    }
    let site = Site([route], tokens: tokens) { Problem(500, "defect", "\($0)") }
    let server = try HTTPServer(HTTPServerOptions(host: "127.0.0.1", port: 0), handler: site)
    try await send(Self.job, token, to: server.port) {
      for await _ in begun { break }
    }
    // The connection is closed now.
    let result = await ended.first { _ in true }
    await server.stop(within: .seconds(1))
    return result
  }

  /// Sends a request and closes the connection when `isBegun` returns.
  private func send(_ body: String, _ token: String, to port: Int, isBegun: () async -> Void) async throws {
    let client = try RawClient(port: port)
    await client.send(
      "POST /lint HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        + body)
    await isBegun()
  }

  /// The client disconnects while the lint waits for the store. The later steps are left out, and nothing is reported
  /// as unchecked.
  @Test func lintEndsWithItsClient() async throws {
    let end = try await ending { body, untilGone in
      _ = try await JobLint(body, apps: Self.apps, now: 1_800_000_000) {
        await untilGone()
        throw RefusedStore()
      }
    }
    expect(end, is: .cancelled)
  }

  /// The client disconnects while the estimate reads the templates of the job.
  @Test func estimateEndsWithItsClient() async throws {
    let job = Array(Self.job.replacing(#","template":"welcome""#, with: "").utf8)
    @Sendable func resolve(_ untilGone: () async -> Void) async -> [UInt8] {
      await untilGone()
      return job
    }
    let end = try await ending { _, untilGone in
      _ = try await JobSubmission(job, resolved: await resolve(untilGone), Self.apps)
    }
    expect(end, is: .cancelled)
  }

  private struct RefusedStore: Error {}
}
