extension SimulatorKnobs {
  /// Text that can't be made knobs of.
  public struct PatchError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, and what would be right.
    public var description: String
  }

  /// Changes the knobs that a JSON object names and leaves the others, as `PUT /knobs` does.
  ///
  /// - Throws: ``PatchError`` for text that is no object, an unknown knob, or a value out of its range.
  public mutating func apply(json: [UInt8]) throws(PatchError) { self = try KnobPatch.apply(json, to: self) }

  /// Changes one knob, `name=value`; a value that is no JSON is taken for text.
  ///
  /// - Throws: ``PatchError`` as for ``apply(json:)``, and for text without an equals sign.
  public mutating func apply(assignment: String) throws(PatchError) {
    guard let sign = assignment.firstIndex(of: "=") else {
      throw PatchError(description: "\(assignment) is not NAME=VALUE")
    }
    let text = String(assignment[assignment.index(after: sign)...])
    let object: [String: Any] = [String(assignment[..<sign]): JSON.read(text.utf8) ?? text]
    guard let json = JSON.write(object: object) else {
      throw PatchError(description: "\(assignment) can't be put in JSON")
    }
    try apply(json: json)
  }
}
