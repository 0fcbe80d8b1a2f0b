import Foundation
import PushCore

/// A line of the simulator's log of requests.
struct RequestLine {
  /// ms since 1970.
  var time: Int
  var connection: Substring
  var token: String
  var status: Substring
  /// Nothing where the log has no bodies.
  var body = ""

  /// All lines of a log; answers come after their lines.
  static func read(_ path: String) throws -> [RequestLine] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
      let fields = line.split(separator: " ", maxSplits: 6)
      return RequestLine(
        time: Int(fields[0]) ?? 0, connection: fields[1], token: String(fields[3]), status: fields[5],
        body: fields.count > 6 ? String(fields[6]) : "")
    }
  }
}
