/// The knobs as requests are judged by, with what is worked out from them once. One object for each turn of a knob.
final class Rules: Sendable {
  let knobs: SimulatorKnobs
  /// Never the same for two of a simulator: what was concluded under another may be wrong.
  let version: Int
  let revokedKeys: Set<String>
  /// The body that goes with each reason, at its number; those with a timestamp are made when they are needed.
  private let bodies: [[UInt8]]

  init(_ knobs: SimulatorKnobs, version: Int) {
    self.knobs = knobs
    self.version = version
    revokedKeys = Set(knobs.revokedKeys)
    bodies = Reason.allCases.map { Self.body(knobs.spellings[$0.name] ?? $0.name, timestamp: nil) }
  }

  /// The body that goes with `reason`.
  ///
  /// - Parameter timestamp: milliseconds since 1970, for reasons that carry it.
  func body(_ reason: Reason, timestamp: Int64) -> [UInt8] {
    reason.hasTimestamp ? body(reason.name, timestamp: timestamp) : bodies[Int(reason.rawValue)]
  }

  /// The body that goes with a reason that may be none of Apple's.
  func body(_ reason: String, timestamp: Int64? = nil) -> [UInt8] {
    Self.body(knobs.spellings[reason] ?? reason, timestamp: timestamp)
  }

  private static func body(_ reason: String, timestamp: Int64?) -> [UInt8] {
    let tail = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
    return Array("{\"reason\":\"\(reason)\"\(tail)}".utf8)
  }
}
