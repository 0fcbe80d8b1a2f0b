import PushCore
import TestKit
import TestSupport
import Testing

@testable import FCM

/// Random histories of a policy. The test keeps its own account of tokens, requests and refusals.
@Suite struct AccessTokenHistoryTests {
  private struct TokenRecord {
    var ends: [String: Int] = [:]
    var refused: Set<Int> = []
    /// Time at which the present request began.
    var openSince: Int?
    var isWanted = false
    var published: String?
    var counts: [String: Int] = [:]
  }

  @Test func randomHistoriesKeepTheInvariants() throws {
    var seed = Seed("AccessTokenHistoryTests")
    var counts: [String: Int] = [:]
    for round in 0..<150 {
      var history = PolicyHistory(round.isMultiple(of: 2) ? .serviceAccount : .metadataServer)
      var witness = TokenRecord()
      for step in 0..<80 {
        let event = Self.event(step, &history, &witness, &seed)
        let actions = history.send(event, chance: .random(in: 0...1, using: &seed))
        try Self.check(actions, event, history, &witness)
      }
      // The policy recovers from every state.
      for event in [AccessTokenPolicy.Event.resumed, .asked] { history.send(event) }
      // The first answer may come too late, as the history may be hours longer than the request.
      for _ in 0..<2 where history.text == nil {
        history.answer(.token("last", lifetime: 3_600_000))
        history.now += 70_000
        history.send(.woke)
      }
      if history.text == nil { history.answer(.token("last", lifetime: 3_600_000)) }
      try #require(history.text != nil)
      counts.merge(witness.counts) { $0 + $1 }
    }
    for name in ["request", "token", "refused", "stopped", "delayed", "expired"] {
      expect(counts[name, default: 0] > 10, "\(name): \(counts)")
    }
  }

  private static func event(
    _ step: Int, _ history: inout PolicyHistory, _ witness: inout TokenRecord, _ seed: inout Seed
  ) -> AccessTokenPolicy.Event {
    history.now += [0, 1, 900, 15_000, 70_000, 3_000_000].randomElement(using: &seed) ?? 0
    switch Int.random(in: 0..<12, using: &seed) {
    case 0...1:
      witness.isWanted = true
      return .asked
    case 2...3:
      if let wakeAt = history.wakeAt { history.now = max(history.now, wakeAt) }
      return .woke
    case 4...7:
      let serial = history.request?.serial ?? 0
      guard let start = witness.openSince else { return .answered(serial: serial, .refused("too late")) }
      witness.openSince = nil
      switch Int.random(in: 0..<8, using: &seed) {
      case 0...3:
        let life = [1, 5000, 100_000, 3_599_000].randomElement(using: &seed) ?? 1
        witness.ends["t\(step)"] = start + life
        witness.counts["token", default: 0] += 1
        return .answered(serial: serial, .token("t\(step)", lifetime: life))
      case 4...5: return .answered(serial: serial, .later("down"))
      case 6: return .answered(serial: serial, .wrongTime(ahead: .random(in: -900...900, using: &seed), "time"))
      default: return .answered(serial: serial, .refused("key"))
      }
    case 8...9:
      let generation = max(0, history.generation - Int.random(in: 0...1, using: &seed))
      witness.refused.insert(generation)
      witness.counts["refused", default: 0] += 1
      return .tokenRefused(generation: generation)
    case 10: return .resumed
    default:
      witness.openSince = nil
      return .replaced
    }
  }

  private static func check(
    _ actions: AccessTokenPolicy.Actions, _ event: AccessTokenPolicy.Event, _ history: PolicyHistory,
    _ witness: inout TokenRecord
  ) throws {
    let now = history.now
    let isStopped = history.policy.stopped(now) != nil
    // A refused key that is tried again may get a second request, with a corrected clock, after the token has expired.
    let isCorrection = if case .answered(_, .wrongTime) = event { true } else { false }
    if actions.request != nil {
      try #require(witness.openSince == nil, "two requests run: \(event)")
      try #require(witness.isWanted && (!isStopped || isCorrection))
      witness.openSince = now
      witness.counts["request", default: 0] += 1
    }
    if let text = history.text {
      try #require(now < witness.ends[text] ?? 0, "an expired token is given out: \(event)")
      try #require(!witness.refused.contains(history.generation), "a refused token is given out: \(event)")
      try #require(!isStopped && history.policy.delay(now) == nil)
    } else if witness.isWanted, !isStopped {
      // If a caller waits, a request runs, or the next request starts within a minute and its jitter.
      let wakeAt = actions.wakeAt ?? .max
      try #require(witness.openSince != nil || wakeAt <= now + 66_000, "nothing is due: \(event)")
      witness.counts[history.policy.delay(now) == nil ? "expired" : "delayed", default: 0] += 1
    }
    if isStopped {
      // A refusal abandons a running request. A request that tries a refused key again continues when the token
      // expires.
      if history.policy.request == nil { witness.openSince = nil }
      try #require((actions.request == nil || isCorrection) && actions.wakeAt == nil)
      witness.counts["stopped", default: 0] += 1
    }
    let published = "\(history.generation) \(history.policy.stopped(now)?.reason.rawValue ?? 0)"
    try #require(actions.hasChanged == (published != witness.published ?? "0 0"), "observers: \(event)")
    witness.published = published
  }
}
