/// An answer of the control API.
struct ControlResponse: Sendable {
  var status: Int
  /// JSON, with a line feed for people with curl.
  var body: [UInt8]

  /// - Parameter value: encoded with its keys in order, so that two answers can be compared by eye.
  init(_ value: some Encodable, status: Int = 200) {
    if let text = JSON.write(value) {
      self.status = status
      body = text + [0x0A]
    } else {
      self.status = 500
      body = Array("{\"error\":\"the answer can't be put in JSON\"}\n".utf8)
    }
  }

  /// An answer that says what is wrong.
  static func failure(_ status: Int, _ message: String) -> ControlResponse {
    ControlResponse(["error": message], status: status)
  }
}
