/// An answer of the control API.
struct ControlResponse: Sendable {
  var status: Int
  /// JSON with a line feed at the end, so that curl's output ends with a line break.
  var body: [UInt8]

  /// - Parameter value: encoded with sorted keys, so that two answers are easy to compare.
  init(_ value: some Encodable, status: Int = 200) {
    if let text = JSON.write(value) {
      self.status = status
      body = text + [0x0A]
    } else {
      self.status = 500
      body = Array("{\"error\":\"the answer can't be put in JSON\"}\n".utf8)
    }
  }

  /// Returns an answer with an error message.
  static func failure(_ status: Int, _ message: String) -> ControlResponse {
    ControlResponse(["error": message], status: status)
  }
}
