import Glibc
import PushCore
import TLS
import TestKit
import TestSupport
import Testing

@testable import APNs
@testable import PushTransport

/// Servers that break the protocol. Both engines have the same results in bounded time, and stop when they are asked
/// to.
@Suite("Servers that misbehave", .timeLimit(.minutes(6)), .takesTurns)
struct MisbehavingServerTests {
  /// Result of one row with one engine.
  private struct Finding: Sendable {
    var row: String
    var engine: PushEngineKind
    var outcomes: [Misbehaviour.Outcome]
    var state: PoolState
    var drained: Duration
  }

  /// Runs all rows at the same time, because they spend most of their time waiting.
  @Test func enginesComeToTheSame() async throws {
    let identity = try SelfSignedIdentity()
    try await withThrowingTaskGroup(of: Finding.self) { group in
      for row in Misbehaviour.rows {
        for engine in PushEngineKind.allCases {
          group.addTask { try await Self.play(row, engine, identity) }
        }
      }
      var findings: [String: [PushEngineKind: Finding]] = [:]
      for try await finding in group { findings[finding.row, default: [:]][finding.engine] = finding }
      for row in Misbehaviour.rows {
        for (engine, finding) in try #require(findings[row.description]) {
          let place = "\(row.description), \(engine): \(finding.state.lastError ?? "no error")"
          expect(finding.outcomes.count, is: row.outcomes.count, "\(place)")
          for (found, expected) in zip(finding.outcomes, row.outcomes) {
            expect(engine.mayCall(expected, found, of: row), "\(found): \(place)")
          }
          // The limit is for an overloaded machine. Usually this takes milliseconds.
          expect(finding.drained < .seconds(45), "\(place)")
          expect(finding.state.openings <= 2 && finding.state.failures <= 2, "\(place)")
          let words = finding.state.lastError ?? ""
          expect(words.contains(row.words) && words.utf8.count < 400, "\(place)")
        }
      }
    }
  }

  /// A single request ends too. libcurl sends it on a thread of its own for both engines.
  @Test func singleRequestEndsDespiteEndlessFrames() async throws {
    let identity = try SelfSignedIdentity()
    let context = try TLSContext.server(identity: identity.identity, protocols: ["h2"])
    let isOver = MisbehavingServer.Flag()
    let server = try RawServer { descriptor in
      defer { shutdown(descriptor, Int32(SHUT_RDWR)) }
      guard let peer = RawPeer(descriptor, context, isOver: { isOver.isSet }), peer.takePreface() else { return }
      peer.write(.settings)
      guard peer.nextRequest() != nil else { return }
      peer.flood(.windowUpdate(0))
    }
    defer {
      isOver.set()
      server.stop()
    }
    let folder = try ScratchFolder()
    let endpoint = PushEndpoint(
      url: "https://127.0.0.1:\(server.port)", trustRoots: try folder.write("ca.pem", identity.authorityPEM))
    let began = ContinuousClock.now
    await #expect(throws: HTTPExchange.Failure.self) {
      try await HTTPExchange.perform(.init(method: "GET", path: "/", headers: []), at: endpoint, timeout: 5000)
    }
    // The limit is the request's own timeout and a reserve. libcurl does not check its timeout during the flood.
    expect(ContinuousClock.now - began < .seconds(45))
  }

  private static func play(
    _ row: Misbehaviour, _ engine: PushEngineKind, _ identity: SelfSignedIdentity
  ) async throws -> Finding {
    let context = try TLSContext.server(identity: identity.identity, protocols: row.protocols)
    let second: UInt64 = 1_000_000_000
    let server = try MisbehavingServer(
      identity, engine: engine, requestTimeout: row.timeouts.request * second,
      connectTimeout: row.timeouts.connect * second
    ) { descriptor, isOver in
      if let cleartext = row.cleartext {
        _ = RawServer.write(String(decoding: cleartext, as: UTF8.self), to: descriptor)
        return
      }
      guard let peer = RawPeer(descriptor, context, isOver: { isOver.isSet }), peer.takePreface() else { return }
      row.play(peer)
    }
    if row.isWarm {
      server.pool.submit(PoolHarness.batch([0]), lane: 0)
      expect(try await server.completions.one().status, is: 200, "\(row.description)")
    }
    server.pool.submit(PoolHarness.batch((1...UInt64(row.outcomes.count)).map { $0 }), lane: 0)
    let completions = await server.completions.next(row.outcomes.count).sorted { $0.tag < $1.tag }
    let began = ContinuousClock.now
    _ = await server.pool.drain(deadline: 0)
    let drained = ContinuousClock.now - began
    server.stop()
    return Finding(
      row: row.description, engine: engine, outcomes: completions.map { Misbehaviour.Outcome($0) },
      state: server.pool.published, drained: drained)
  }
}

extension Misbehaviour.Outcome {
  init(_ completion: PushCompletion) {
    switch completion.kind {
    case .answered: self = completion.answer.isAccepted ? .accepted : .refused
    case .notSent: self = .notSent
    case .ambiguous: self = .inDoubt
    }
  }
}
