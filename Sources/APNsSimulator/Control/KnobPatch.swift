/// A JSON object that changes some knobs and keeps the others.
enum KnobPatch {
  typealias Problem = SimulatorKnobs.PatchError

  /// Maximum number of entries in `tokenFailures`. The body of a patch has a limit too, but this one gives a clear
  /// error message.
  private static let mostTokenFailures = 10_000
  /// The name of the member that contains the knobs of FCM as an object. A patch changes some of these knobs and keeps
  /// the others.
  static let group = "fcm"

  /// Returns the knobs with the changes of a patch.
  ///
  /// - Throws: ``Problem`` if the text is not an object, a knob is unknown or a value is out of range.
  static func apply(_ patch: [UInt8], to knobs: SimulatorKnobs) throws(Problem) -> SimulatorKnobs {
    guard let changes = JSON.read(patch) as? [String: Any] else {
      throw Problem(description: "a JSON object is expected, such as {\"latencyMilliseconds\":5}")
    }
    let result = try merge(changes, into: knobs)
    try check(result)
    return result
  }

  private static func merge(_ changes: [String: Any], into knobs: SimulatorKnobs) throws(Problem) -> SimulatorKnobs {
    guard let encoded = JSON.write(knobs), var merged = JSON.read(encoded) as? [String: Any] else { return knobs }
    for (name, value) in changes {
      guard merged[name] != nil else {
        throw Problem(description: "no knob \(name); there are \(merged.keys.sorted().joined(separator: ", "))")
      }
      if name == Self.group, let changes = value as? [String: Any], let old = merged[name] as? [String: Any] {
        if let unknown = changes.keys.sorted().first(where: { old[$0] == nil }) {
          let names = old.keys.sorted().joined(separator: ", ")
          throw Problem(description: "no knob \(name).\(unknown); there are \(names)")
        }
        merged[name] = old.merging(changes) { $1 }
      } else {
        merged[name] = value
      }
    }
    do {
      return try JSON.read(SimulatorKnobs.self, from: JSON.write(object: merged) ?? [])
    } catch let error as DecodingError {
      throw Problem(description: describe(error))
    } catch {
      throw Problem(description: "\(error)")
    }
  }

  private static func describe(_ error: DecodingError) -> String {
    switch error {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      let path = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
      return "a value has the wrong type: \(path.isEmpty ? "the object" : path): \(context.debugDescription)"
    @unknown default: return "a value has the wrong type: \(error)"
    }
  }

  private static func check(_ result: SimulatorKnobs) throws(Problem) {
    let delays = [
      "latencyMilliseconds": result.latencyMilliseconds, "latencySpreadMilliseconds": result.latencySpreadMilliseconds,
      "stallMilliseconds": result.stallMilliseconds, "handshakeDelayMilliseconds": result.handshakeDelayMilliseconds,
      "settingsDelayMilliseconds": result.settingsDelayMilliseconds,
    ]
    for (name, delay) in delays where !(0...3_600_000).contains(delay) {
      throw Problem(description: "\(name) goes from 0 to 3600000")
    }
    // Ten years are enough for every test of clocks, and no sum with the present time overflows.
    guard (-315_360_000...315_360_000).contains(result.clockSkewSeconds) else {
      throw Problem(description: "clockSkewSeconds goes from -315360000 to 315360000")
    }
    guard result.streamWindow <= UInt32(Int32.max) else {
      throw Problem(description: "streamWindow goes from 0 to \(Int32.max)")
    }
    guard (16_384...16_777_215).contains(result.maxFrameSize) else {
      throw Problem(description: "maxFrameSize goes from 16384 to 16777215")
    }
    guard result.interimStatus == 0 || (100...199).contains(result.interimStatus) && result.interimStatus != 101 else {
      throw Problem(description: "interimStatus is 0, 100, or 102 to 199")
    }
    let shares =
      result.failures.map(\.share) + [
        result.refusedShare, result.resetShare, result.withheldShare, result.stallShare, result.connectResetShare,
      ]
    guard shares.allSatisfy({ (0...1).contains($0) }) else { throw Problem(description: "a share goes from 0 to 1") }
    let statuses = result.failures.map(\.status) + result.tokenFailures.map(\.status)
    guard statuses.allSatisfy({ (400...599).contains($0) }) else {
      throw Problem(description: "a status goes from 400 to 599")
    }
    let counts = [
      "goAwayAfterRequests": result.goAwayAfterRequests, "goAwayUnprocessed": result.goAwayUnprocessed,
      "resetAfterRequests": result.resetAfterRequests, "closeAfterRequests": result.closeAfterRequests,
      "tokenBurst": result.tokenBurst, "tokenRefillMilliseconds": result.tokenRefillMilliseconds,
      "silentAfterRequests": result.silentAfterRequests, "answersPerSecond": result.answersPerSecond,
      "idleSeconds": result.idleSeconds, "connectionSeconds": result.connectionSeconds,
      "connectsPerMinute": result.connectsPerMinute, "retryAfterSeconds": result.retryAfterSeconds,
      "bodyPieceBytes": result.bodyPieceBytes, "errorBudget": result.errorBudget,
      "badTokenPoints": result.badTokenPoints,
      "providerTokenSeconds": Int(result.providerTokenSeconds), "tokenUpdateSeconds": Int(result.tokenUpdateSeconds),
    ]
    for (name, count) in counts where !(0...1_000_000_000).contains(count) {
      throw Problem(description: "\(name) goes from 0 to a billion")
    }
    guard result.tokenFailures.count <= mostTokenFailures else {
      throw Problem(description: "at most \(mostTokenFailures) tokenFailures")
    }
    if let problem = result.fcm.problem { throw Problem(description: problem) }
  }
}
