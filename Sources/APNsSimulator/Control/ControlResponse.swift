private import Foundation

/// An answer of the control API.
struct ControlResponse: Sendable {
  var status: Int
  /// JSON, with a line feed for people with curl.
  var body: [UInt8]

  /// - Parameter value: encoded with its keys in order, so that two answers can be compared by eye.
  init(_ value: some Encodable, status: Int = 200) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if let data = try? encoder.encode(value) {
      self.status = status
      body = Array(data) + [0x0A]
    } else {
      // Only a number that JSON lacks, such as an infinite share.
      self.status = 500
      body = Array("{\"error\":\"the answer can't be put in JSON\"}\n".utf8)
    }
  }

  /// An answer that says what is wrong.
  static func failure(_ status: Int, _ message: String) -> ControlResponse {
    ControlResponse(["error": message], status: status)
  }
}
