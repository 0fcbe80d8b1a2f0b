/// One line of a list of FCM registrations: CSV `token,state,project,package` or an object with these names.
enum RegistrationLine {
  private static let names = ["token", "state", "project", "package"]

  /// Reads one line of a list of registrations.
  ///
  /// - Parameter bytes: a line without its line break: a JSON object if it begins with a brace, otherwise CSV.
  /// - Returns: `nil` for the header line of a CSV file.
  static func read(_ bytes: UnsafeRawBufferPointer) throws(DeviceLine.Problem) -> SimulatedRegistration? {
    var values: [String: String] = [:]
    if bytes.first == UInt8(ascii: "{") {
      var scanner = FlatObjectScanner(bytes)
      while let (name, value) = try scanner.next() {
        let name = String(decoding: name, as: UTF8.self)
        guard names.contains(name) else {
          throw DeviceLine.Problem("no field \(name); there are \(names.joined(separator: ", "))")
        }
        values[name] = String(decoding: value, as: UTF8.self)
      }
    } else {
      let fields = bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      guard fields.count <= names.count else { throw DeviceLine.Problem("more than \(names.count) fields") }
      for (name, field) in zip(names, fields) { values[name] = String(decoding: field, as: UTF8.self) }
      if values["token"] == "token" { return nil }
    }
    guard let token = values["token"], !token.isEmpty else { throw DeviceLine.Problem("no token") }
    var registration = SimulatedRegistration(token)
    if let text = values["state"], !text.isEmpty {
      guard let state = SimulatedRegistration.State(rawValue: text) else {
        let states = SimulatedRegistration.State.allCases.map(\.rawValue).joined(separator: ", ")
        throw DeviceLine.Problem("no state \(text); there are \(states)")
      }
      registration.state = state
    }
    registration.project = values["project"].flatMap { $0.isEmpty ? nil : $0 }
    registration.package = values["package"].flatMap { $0.isEmpty ? nil : $0 }
    return registration
  }
}
