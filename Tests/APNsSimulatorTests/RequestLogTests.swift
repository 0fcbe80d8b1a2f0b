import APNsSimulator
import Foundation
import TestKit
import TestSupport
import Testing

@Suite struct RequestLogTests {
  private static let id = "01234567-89ab-4cde-8f01-23456789ABCD"

  /// Returns the fields of every line except the time.
  private func lines(_ path: String) throws -> [[String]] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
      line.split(separator: " ").dropFirst().map(String.init)
    }
  }

  @Test func receivedAnswerIsInTheFile() async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests.log")
    try await Scene.run {
      $0.log = path
    } _: { (scene) async throws in
      scene.simulator.load([.init(token: [2], state: .unregistered)])
      try await scene.withConnectedClient { (client) async throws in
        _ = try await client.send([try scene.request("AB") { $0.set("apns-id", Self.id) }])
        expect(try lines(path), is: [["1", "1", "ab", Self.id, "200"]])
        _ = try await client.send([try scene.request("02")])
        _ = try await client.send([try scene.request("junk")])
        let expected = [["1", "3", "02", "-", "410"], ["1", "5", "-", "-", "400"]]
        expect(try lines(path).dropFirst(), is: expected[...])
      }
    }
    let line = try String(contentsOfFile: path, encoding: .utf8).split(separator: " ")
    let milliseconds = try #require(Double(line[0]))
    expect(abs(Date().timeIntervalSince1970 * 1000 - milliseconds) < 600_000)
  }

  @Test func requestIsInTheFileLongBeforeItsAnswer() async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests.log")
    try await Scene.run {
      $0.log = path
      $0.knobs.latencyMilliseconds = 600_000
      $0.initialStreams = 10
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        try await client.start(try (0..<5).map { try scene.request("0\($0)") })
        _ = try await scene.simulator.counters(when: { $0.received == 5 })
        expect(try lines(path).map { $0[2] }, is: ["00", "01", "02", "03", "04"])
      }
    }
  }

  @Test func connectionsOnManyLoopsHaveOwnNumbersAndWholeLines() async throws {
    let folder = try ScratchFolder()
    let path = folder.path("requests.log")
    try await Scene.run {
      $0.log = path
      $0.threads = 3
      $0.initialStreams = 1000
    } _: { (scene) async throws in
      let requests = try (0..<200).map { _ in try scene.request() }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<6 {
          group.addTask {
            try await scene.withConnectedClient { (client) async throws in
              expect(try await client.send(requests).allSatisfy { $0.status == 200 })
            }
          }
        }
        try await group.waitForAll()
      }
    }
    let lines = try lines(path)
    expect(lines.count, is: 1200)
    expect(Set(lines.map { $0[0] + " " + $0[1] }).count, is: 1200)
    expect(Set(lines.map { $0[0] }), is: ["1", "2", "3", "4", "5", "6"])
    expect(lines.allSatisfy { $0[2...] == [Scene.device, "-", "200"] })
  }

  @Test func fileIsAppendedTo() async throws {
    let folder = try ScratchFolder()
    let path = try folder.write("requests.log", "before\n")
    try await Scene.run {
      $0.log = path
    } _: { (scene) async throws in
      _ = try await scene.push(try scene.request("ab"))
    }
    expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("before\n"))
    expect(try lines(path).count, is: 2)
  }

  @Test func fullDiskIsReportedAndEndsAllAnswers() async throws {
    try await Scene.run {
      // Every write to this file fails as on a full disk (full(4)).
      $0.log = "/dev/full"
    } _: { (scene) async throws in
      for _ in 0..<2 {
        await #expect(throws: PushClient.Lost.self) { try await scene.push(try scene.request()) }
      }
      for await failure in scene.simulator.logFailures {
        expect(failure.description, is: "/dev/full: No space left on device")
        break
      }
    }
  }

  @Test func unopenableFileIsAnErrorAtTheStart() async throws {
    let folder = try ScratchFolder()
    var configuration = SimulatorConfiguration()
    configuration.log = folder.path("nowhere/requests.log")
    let error = await #expect(throws: RequestLogError.self) { try await Simulator.start(configuration) }
    expect(error?.description.hasSuffix("nowhere/requests.log: No such file or directory"), is: true)
  }
}
