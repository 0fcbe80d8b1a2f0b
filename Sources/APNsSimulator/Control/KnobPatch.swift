private import Foundation

/// A JSON object that changes some knobs and leaves the others.
enum KnobPatch {
  /// A patch that can't be applied.
  struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  /// The body of a patch is bounded too; this is for people.
  private static let mostTokenFailures = 10_000

  /// - Throws: ``Problem`` for text that is no object, an unknown knob or a value out of its range.
  static func apply(_ patch: [UInt8], to knobs: SimulatorKnobs) throws -> SimulatorKnobs {
    guard let changes = try? JSONSerialization.jsonObject(with: Data(patch)) as? [String: Any] else {
      throw Problem(description: "a JSON object is expected, such as {\"latencyMilliseconds\":5}")
    }
    let encoded = try JSONEncoder().encode(knobs)
    guard var merged = try JSONSerialization.jsonObject(with: encoded) as? [String: Any] else { return knobs }
    for (name, value) in changes {
      guard merged[name] != nil else {
        throw Problem(description: "no knob \(name); there are \(merged.keys.sorted().joined(separator: ", "))")
      }
      merged[name] = value
    }
    let result: SimulatorKnobs
    do {
      result = try JSONDecoder().decode(SimulatorKnobs.self, from: JSONSerialization.data(withJSONObject: merged))
    } catch {
      throw Problem(description: "a value has the wrong type: \(error)")
    }
    guard (0...3_600_000).contains(result.latencyMilliseconds) else {
      throw Problem(description: "latencyMilliseconds goes from 0 to 3600000")
    }
    let shares = result.failures.map(\.share) + [result.refusedShare, result.resetShare, result.withheldShare]
    guard shares.allSatisfy({ (0...1).contains($0) }) else { throw Problem(description: "a share goes from 0 to 1") }
    let statuses = result.failures.map(\.status) + result.tokenFailures.map(\.status)
    guard statuses.allSatisfy({ (400...599).contains($0) }) else {
      throw Problem(description: "a status goes from 400 to 599")
    }
    let counts = [
      "goAwayAfterRequests": result.goAwayAfterRequests, "goAwayDisowns": result.goAwayDisowns,
      "resetAfterRequests": result.resetAfterRequests, "closeAfterRequests": result.closeAfterRequests,
      "tokenBurst": result.tokenBurst, "tokenRefillMilliseconds": result.tokenRefillMilliseconds,
      "errorBudget": result.errorBudget, "badTokenPoints": result.badTokenPoints,
      "providerTokenSeconds": Int(result.providerTokenSeconds), "tokenUpdateSeconds": Int(result.tokenUpdateSeconds),
    ]
    for (name, count) in counts where !(0...1_000_000_000).contains(count) {
      throw Problem(description: "\(name) goes from 0 to a billion")
    }
    guard result.tokenFailures.count <= mostTokenFailures else {
      throw Problem(description: "at most \(mostTokenFailures) tokenFailures")
    }
    return result
  }
}
