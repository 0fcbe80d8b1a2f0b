import Foundation
import PushCore

/// A line of the simulator's log of requests.
struct RequestLine {
  /// ms since 1970.
  var time: Int
  var connection: Substring
  var token: String
  var status: Substring
  /// Empty if the log has no bodies.
  var body = ""

  /// Returns all lines of a log. The simulator writes a line before it answers.
  static func read(_ path: String) throws -> [RequestLine] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
      let fields = line.split(separator: " ", maxSplits: 6)
      return RequestLine(
        time: Int(fields[0]) ?? 0, connection: fields[1], token: String(fields[3]), status: fields[5],
        body: fields.count > 6 ? String(fields[6]) : "")
    }
  }
}
