import PushCore

/// A value that commands and the API print as one JSON object, whose format is part of the API.
protocol JSONReport {
  /// Writes the members of the object.
  func writeMembers(to json: inout JSONWriter)
}

extension JSONReport {
  /// The object as one line.
  var json: String { JSONWriter.object { writeMembers(to: &$0) } }

  /// Writes the object.
  func write(to json: inout JSONWriter) { json.object { writeMembers(to: &$0) } }
}

extension JSONWriter {
  /// Writes a member with an array of reports.
  mutating func array(_ name: String, _ reports: some Sequence<some JSONReport>) {
    array(name, reports) { $1.write(to: &$0) }
  }
}
