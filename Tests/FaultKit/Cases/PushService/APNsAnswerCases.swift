import CampaignStore
import PushCore
import TestSupport

/// APNs fails: it refuses, resets, closes, stays silent, or answers with errors.
enum APNsAnswerCases {
  static let all = [
    refused, streamReset, connectionReset, connectionClosed, goAway, unavailable, serverError, throttled, withheld,
    oneStream,
  ]

  private static let workers = 2
  private static let window = 50

  /// A fault that the simulator injects while knobs are set.
  private struct Knobs {
    var on: String
    var off: String
    /// Returns how often the fault has fired since the start, from the simulator's counters.
    var fired: @Sendable (JSONObject) -> Int
    /// Returns the number of duplicates that the fault allows if targets in doubt are sent again.
    var allowed: @Sendable (JSONObject) -> Int = { _ in 0 }
    /// Returns the number of targets that the fault can put in doubt at most. This is the number for libcurl, which
    /// knows less about unprocessed pushes than the native engine.
    var doubts: @Sendable (JSONObject) -> Int = { _ in 0 }
    /// Duration in ms for which the knobs stay set after the fault has fired.
    var lasting = 1000...4000
    /// Number of outcomes of the campaign when the knobs are set.
    var from = 0
    /// `worker.answerTimeout`. It is short only for faults in which APNs stays silent. With a short timeout a machine
    /// that stalls would also put pushes in doubt, and no injected fault would explain them.
    var answerTimeout = "30s"
    /// Whether every target must end as accepted, because the fault puts none in doubt.
    var isHarmless = false
    /// Whether the simulator wrongly declares received requests unprocessed. An engine that reads this declaration
    /// relies on it, so with such a server even `skip` can't prevent duplicates.
    var isLie = false

    /// Returns a fault that the simulator counts under the name of its knob.
    static func counted(
      _ name: String, on: String, off: String, allowing duplicates: Int, doubts: Int? = nil
    ) -> Knobs {
      let fired: @Sendable (JSONObject) -> Int = { $0.object("faults")?.number(name) ?? 0 }
      return Knobs(
        on: on, off: off, fired: fired, allowed: { fired($0) * duplicates },
        doubts: { fired($0) * (doubts ?? duplicates) })
    }
  }

  private static func knobs(
    _ name: String, _ fault: String, invariant: String, bound: String, _ knobs: Knobs
  ) -> FaultCase {
    FaultCase(name, faults: [fault], invariant: invariant, bound: bound) { stage in
      let world = try await stage.world {
        $0.devices = stage.times(short: 800, full: 3000)
        $0.window = window
        $0.simulator = ["--latency", "200ms"]
        // 20 attempts are more than any push needs while the fault lasts.
        $0.environment = [
          "CARILLON_WORKER_ANSWER_TIMEOUT": knobs.answerTimeout, "CARILLON_RETRY_ATTEMPTS": "20",
          "CARILLON_RETRY_TOO_MANY_REQUESTS": "200ms",
        ]
      }
      let fleet = try await Fleet(stage, world, size: workers)
      for (number, ambiguity) in stage.ambiguities.enumerated()
      where ambiguity == .resend || !knobs.isLie || !stage.engine.believesGoAway {
        let before = try await world.simulator.counters()
        let campaign = FaultCampaign("answers-\(number)") { $0.ambiguity = ambiguity }
        if knobs.from == 0 { try await world.simulator.set(knobs.on) }
        try await world.submit(campaign)
        if knobs.from > 0 {
          try await world.reached(knobs.from, of: campaign)
          try await world.simulator.set(knobs.on)
        }
        try await until("\(fault) has fired") {
          if knobs.fired(try await world.simulator.counters()) > knobs.fired(before) { return true }
          return try await world.hasEnded(campaign)
        }
        await stage.elapse(milliseconds: knobs.lasting)
        try await world.simulator.set(knobs.off)
        try await world.ended(campaign)
        let after = try await world.simulator.counters()
        let allowed = ambiguity == .resend ? knobs.allowed(after) - knobs.allowed(before) : 0
        stage.firedByRate(fault, times: knobs.fired(after) - knobs.fired(before), duplicates: allowed)
        let doubts = ambiguity == .skip ? knobs.doubts(after) - knobs.doubts(before) : 0
        try await stage.expect(unknownAtMost: doubts, of: campaign, in: world)
        if knobs.isHarmless { try await expectAccepted(stage, world, campaign) }
        try await stage.check(world)
      }
      stage.expect(fleet.workers.allSatisfy { $0.process.exit == nil }, "a worker did not survive the fault")
    }
  }

  private static func expectAccepted(_ stage: Stage, _ world: FaultWorld, _ campaign: FaultCampaign) async throws {
    let outcomes = try await world.store.campaigns.show(campaign.id)?.counters.outcomes ?? [:]
    let isSo = outcomes.allSatisfy { $0.key == .accepted || $0.value == 0 }
    stage.expect(isSo, "campaign \(campaign.id) has \(outcomes), although all devices accept pushes")
  }

  // MARK: Streams

  static let refused = knobs(
    "apns-refused-stream", "REFUSED_STREAM for 5 %",
    invariant: "sent again, because it was not processed; with skip unknown",
    bound: "0: a refused stream was not received",
    .counted("refusedShare", on: #"{"refusedShare":0.05}"#, off: #"{"refusedShare":0}"#, allowing: 0, doubts: 1))

  static let streamReset = knobs(
    "apns-stream-reset", "RST_STREAM after the body, 5 %",
    invariant: "in doubt: sent again; with skip unknown", bound: "streams reset; with skip 0",
    .counted("resetShare", on: #"{"resetShare":0.05}"#, off: #"{"resetShare":0}"#, allowing: 1))

  static let withheld = knobs(
    "apns-withheld", "answers withheld until the time-out",
    invariant: "in doubt after worker.answerTimeout: sent again; with skip unknown",
    bound: "answers withheld; with skip 0",
    Knobs(
      on: #"{"withheldShare":0.05}"#, off: #"{"withheldShare":0}"#, fired: withheldAnswers, allowed: withheldAnswers,
      doubts: withheldAnswers, answerTimeout: "5s"))

  private static let withheldAnswers: @Sendable (JSONObject) -> Int = {
    $0.object("faults")?.number("withheldShare") ?? 0
  }

  static let oneStream = knobs(
    "apns-one-stream", "stream limit of live connections shrunk to 1",
    invariant: "slower, then as before", bound: "0: streams above the limit were not received",
    Knobs(
      on: #"{"streamLimit":1}"#, off: #"{"streamLimit":0}"#,
      fired: { $0.object("faults")?.number("streamLimit") ?? 0 }, doubts: { $0.number("refusedStreams") ?? 0 },
      from: 100))

  // MARK: Connections

  static let connectionReset = knobs(
    "apns-connection-reset", "connection reset after the body was read",
    invariant: "in doubt: sent again; with skip unknown", bound: "window × resets: the pushes in flight; with skip 0",
    .counted(
      "resetAfterRequests", on: #"{"resetAfterRequests":150}"#, off: #"{"resetAfterRequests":0}"#, allowing: window))

  static let connectionClosed = knobs(
    "apns-connection-closed", "connection closed after every 150 requests",
    invariant: "in doubt: sent again; with skip unknown",
    bound: "window × closings: the pushes in flight; with skip 0",
    .counted(
      "closeAfterRequests", on: #"{"closeAfterRequests":150}"#, off: #"{"closeAfterRequests":0}"#, allowing: window))

  static let goAway = knobs(
    "apns-goaway", "GOAWAY below requests in flight",
    invariant: "in doubt: sent again; with skip unknown; processed pushes are still answered",
    bound: "requests received and declared unprocessed; with skip 0",
    Knobs(
      on: #"{"goAwayAfterRequests":150,"goAwayUnprocessed":15}"#,
      off: #"{"goAwayAfterRequests":0,"goAwayUnprocessed":0}"#,
      fired: { $0.object("faults")?.number("goAwayUnprocessed") ?? 0 },
      allowed: { $0.object("faults")?.number("goAwayUnprocessed") ?? 0 },
      doubts: { ($0.number("goAways") ?? 0) * window },
      isLie: true))

  // MARK: Answers

  private static func failing(share: Double, status: Int, reason: String) -> Knobs {
    Knobs(
      on: #"{"failures":[{"share":\#(share),"status":\#(status),"reason":"\#(reason)"}]}"#, off: #"{"failures":[]}"#,
      fired: { $0.object("reasons")?.number(reason) ?? 0 }, isHarmless: true)
  }

  static let unavailable = knobs(
    "apns-503", "503 for everything, for seconds",
    invariant: "all targets are tried again later and accepted", bound: "0: 503 excludes delivery",
    failing(share: 1, status: 503, reason: "ServiceUnavailable"))

  static let serverError = knobs(
    "apns-500", "500 for 30 %",
    invariant: "all targets are tried again later and accepted", bound: "0: 500 excludes delivery",
    failing(share: 0.3, status: 500, reason: "InternalServerError"))

  static let throttled = knobs(
    "apns-429", "429 for a few tokens, three times each",
    invariant: "they are tried again later and accepted; other tokens do not wait",
    bound: "0: 429 excludes delivery",
    Knobs(
      on: tokenFailures, off: #"{"tokenFailures":[]}"#,
      fired: { $0.object("faults")?.number("tokenFailures") ?? 0 }, isHarmless: true))

  private static var tokenFailures: String {
    let list = (0..<20).map { number in
      #"{"token":"\#(CarillonWorld.token(number * 17))","status":429,"reason":"TooManyRequests","times":3}"#
    }
    return #"{"tokenFailures":[\#(list.joined(separator: ","))]}"#
  }
}
