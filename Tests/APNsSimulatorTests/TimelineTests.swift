import TestKit
import Testing

@testable import APNsSimulator

@Suite struct TimelineTests {
  private func timeline(_ text: String) throws -> SimulatorTimeline { try SimulatorTimeline(json: Array(text.utf8)) }

  @Test func eventsComeInOrderWhenTheyAreDue() throws {
    var cursor = SimulatorTimeline.Cursor(
      try timeline(#"[{"at":5,"action":"goAway"},{"at":1.5,"knobs":{"streamLimit":1}},{"at":9,"action":"reset"}]"#))
    expect(cursor.next, is: 1.5)
    expect(cursor.take(until: 1).isEmpty)
    expect(cursor.take(until: 5).map(\.at), is: [1.5, 5])
    expect(cursor.next, is: 9)
    expect(cursor.take(until: 9).map(\.action), is: [.reset])
    expect(cursor.next, is: nil)
  }

  @Test func repeatedEventsFlapAndMissedOnesComeOnce() throws {
    var cursor = SimulatorTimeline.Cursor(
      try timeline(
        #"[{"at":0,"every":2,"knobs":{"streamLimit":1}},{"at":1,"every":2,"knobs":{"streamLimit":0}}]"#))
    expect(cursor.take(until: 0).map(\.at), is: [0])
    expect(cursor.take(until: 1).map(\.at), is: [1])
    expect(cursor.take(until: 2).map(\.at), is: [0])
    expect(cursor.take(until: 9.5).map(\.at), is: [1, 0])
    expect(cursor.next, is: 10)
  }

  @Test(arguments: [
    ("{}", "array"), (#"[{"knobs":{"streamLimit":1}}]"#, "event 1: at is"), (#"[{"at":1}]"#, "neither"),
    (#"[{"at":1,"action":"dance"}]"#, "action is"), (#"[{"at":1,"knobs":{"streamlimit":1}}]"#, "no knob streamlimit"),
    (#"[{"at":1,"every":0,"action":"reset"}]"#, "every is"), (#"[{"at":-1,"action":"reset"}]"#, "at is"),
    (#"[{"at":1e300,"action":"reset"}]"#, "at is"), (#"[{"at":1e19,"action":"reset"}]"#, "at is"),
    (#"[{"at":1,"every":1e300,"action":"reset"}]"#, "every is"),
    (#"[{"at":1,"every":1e19,"action":"reset"}]"#, "every is"),
    (#"[{"at":1,"when":2,"action":"reset"}]"#, "no field when"),
  ])
  func invalidTimelineIsRefusedImmediately(text: String, words: String) throws {
    let error = #expect(throws: SimulatorKnobs.PatchError.self) { try timeline(text) }
    expect(error?.description.contains(words), is: true, "\(String(describing: error))")
  }

  @Test func timelineTurnsKnobsOfLiveConnections() async throws {
    try await Scene.run {
      $0.initialStreams = 1000
    } _: { (scene) async throws in
      try await scene.withConnectedClient { (client) async throws in
        let script = """
          [{"at":0,"knobs":{"streamLimit":3}},{"at":0.05,"knobs":{"streamLimit":7}},{"at":0.1,"action":"goAway"}]
          """
        expect(try await scene.control("POST", "/timeline", script).body, is: "{\"events\":3}\n")
        expect(try await client.limits(until: 7).suffix(2), is: [3, 7])
        expect(try await client.goAway()?.debugData, is: #"{"reason":"Shutdown"}"#)
      }
      expect(try await scene.control("POST", "/timeline", "[1]").status, is: 400)
    }
  }
}
