import PushCore

/// What commands print as one JSON object of the contract.
protocol JSONReport {
  func write(to json: inout JSONWriter)
}

extension JSONReport {
  /// The object, alone on its line.
  var json: String {
    var json = JSONWriter()
    write(to: &json)
    return json.text
  }
}
