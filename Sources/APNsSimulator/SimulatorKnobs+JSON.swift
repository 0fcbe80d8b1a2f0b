extension SimulatorKnobs {
  /// An error for text that is not a valid change of knobs.
  public struct PatchError: Error, Equatable, CustomStringConvertible {
    /// The problem and the valid values.
    public var description: String
  }

  /// Changes the knobs in a JSON object and keeps the others, like `PUT /knobs`.
  ///
  /// - Throws: ``PatchError`` if the text is not an object, a knob is unknown, or a value is out of range.
  public mutating func apply(json: [UInt8]) throws(PatchError) { self = try KnobPatch.apply(json, to: self) }

  /// Changes one knob, `name=value` or `fcm.name=value`. A value that is not JSON is used as text.
  ///
  /// - Throws: ``PatchError`` as for ``apply(json:)``, and for text without an equals sign.
  public mutating func apply(assignment: String) throws(PatchError) {
    guard let sign = assignment.firstIndex(of: "=") else {
      throw PatchError(description: "\(assignment) is not NAME=VALUE")
    }
    let text = String(assignment[assignment.index(after: sign)...])
    let name = assignment[..<sign]
    let value = JSON.read(text.utf8) ?? text
    let prefix = "\(KnobPatch.group)."
    let object: [String: Any] =
      name.hasPrefix(prefix)
      ? [KnobPatch.group: [String(name.dropFirst(prefix.count)): value]] : [String(name): value]
    guard let json = JSON.write(object: object) else {
      throw PatchError(description: "\(assignment) can't be put in JSON")
    }
    try apply(json: json)
  }
}
