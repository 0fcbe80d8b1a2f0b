import Foundation

/// The present knobs, and values that are computed once from the knobs. Each change of a knob creates a new object.
final class Rules: Sendable {
  let knobs: SimulatorKnobs
  /// Version number, unique in a simulator. A result that was cached under another version may be wrong.
  let version: Int
  let revokedKeys: Set<String>
  /// Whether requests must store their device token.
  let wantsTokens: Bool
  /// Whether every request must store a ``PushDetails``.
  let needsDetails: Bool
  /// The body of each reason, at the reason's number. Bodies with a timestamp are created on demand.
  private let bodies: [[UInt8]]

  init(_ knobs: SimulatorKnobs, version: Int) {
    self.knobs = knobs
    self.version = version
    revokedKeys = Set(knobs.revokedKeys)
    wantsTokens =
      !knobs.tokenFailures.isEmpty || knobs.tokenBurst > 0 || knobs.failures.contains { !$0.tokenPrefix.isEmpty }
    needsDetails = knobs.tracksCollapse || knobs.failures.contains { !$0.topic.isEmpty }
    bodies = Reason.allCases.map { Self.body(knobs.spellings[$0.name] ?? $0.name, knobs.bodyForm) }
  }

  /// Returns the body of `reason`; `nil` for none.
  ///
  /// - Parameter timestamp: milliseconds since 1970, for reasons that contain it.
  func body(_ reason: Reason, timestamp: Int64) -> [UInt8]? {
    guard knobs.bodyForm != .empty else { return nil }
    guard reason.hasTimestamp, knobs.reportsTimestamp, knobs.bodyForm == .json else {
      return bodies[Int(reason.rawValue)]
    }
    return Self.json(word(reason.name), timestamp: timestamp)
  }

  /// Returns the body of a reason that Apple may not define; `nil` for none.
  func body(_ reason: String) -> [UInt8]? {
    knobs.bodyForm == .empty ? nil : Self.body(word(reason), knobs.bodyForm)
  }

  /// Returns the debug data of a GOAWAY.
  func goAwayData(_ reason: String) -> [UInt8] {
    switch knobs.goAwayForm {
    case .json: Self.json(word(reason), timestamp: nil)
    case .text: Array("The connection is closed: \(word(reason))".utf8)
    case .empty: []
    }
  }

  private func word(_ reason: String) -> String { knobs.spellings[reason] ?? reason }

  private static func body(_ reason: String, _ form: SimulatorKnobs.BodyForm) -> [UInt8] {
    form == .broken ? Array("<html>\(reason)</html>".utf8) : json(reason, timestamp: nil)
  }

  private static func json(_ reason: String, timestamp: Int64?) -> [UInt8] {
    let tail = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
    // A knob may set any text, so the text is encoded as JSON. A string can always be encoded.
    let text = (try? JSONEncoder().encode(reason)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    return Array("{\"reason\":\(text)\(tail)}".utf8)
  }
}
