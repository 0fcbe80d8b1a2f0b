import CommandSupport
import PushCore

/// A line with the progress of an operation.
struct ProgressLine {
  /// The name of the operation, such as `importing`.
  var label: String
  var done: Int
  /// The total amount of work; `nil` if unknown.
  var total: Int?
  /// The counted unit, such as `rows`.
  var unit: String
  var seconds: Double
  /// Amount of work that was done before the start, for example by an interrupted import.
  var first = 0

  /// The line for output that is not a terminal.
  var plain: String {
    var text = "\(label): \(done.grouped)"
    if let total, total > 0 { text += " of \(total.grouped)" }
    text += " \(unit)"
    if let total, total > 0 { text += ", \(min(100, done * 100 / total)) %" }
    if seconds >= 1 { text += ", \(Int(Double(done - first) / seconds).grouped)/s" }
    if let total, let remaining = remaining(total) { text += ", \(Self.clock(remaining)) left" }
    return text
  }

  /// The progress as JSON.
  var json: String {
    JSONWriter.object { json in
      json.member("event", "progress")
      json.member("what", label)
      json.member("unit", unit)
      json.member("done", done)
      json.member("total", total)
      json.member("seconds", seconds)
    }
  }

  /// Returns the line with at most `width` characters.
  func text(width: Int) -> String {
    var tail = done.grouped
    if let total { tail += "/" + total.grouped }
    tail += " " + unit
    if seconds >= 1 { tail += "  " + Int(Double(done - first) / seconds).grouped + "/s" }
    if let total, let remaining = remaining(total) { tail += "  " + Self.clock(remaining) + " left" }
    guard let total, total > 0 else { return String("\(label)  \(tail)".prefix(width)) }
    let share = min(1, Double(done) / Double(total))
    let percent = "\(Int(share * 100))%"
    // Percentage, brackets and blanks need 10 characters in addition to label, bar and tail. A bar with fewer than 10
    // cells is not useful.
    let room = min(40, width - label.count - tail.count - 10)
    guard room >= 10 else { return String("\(label) \(percent)  \(tail)".prefix(width)) }
    let filled = Int(share * Double(room))
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
    return "\(label) [\(bar)] \(String(repeating: " ", count: 4 - percent.count))\(percent)  \(tail)"
  }

  private func remaining(_ total: Int) -> Int? {
    guard seconds >= 2, done > first, done < total else { return nil }
    return Int(seconds / Double(done - first) * Double(total - done))
  }

  /// Returns `1:15` for 75 and `1:01:15` for 3675.
  static func clock(_ seconds: Int) -> String {
    let padded = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
    let minutes = seconds / 60 % 60
    return seconds < 3600
      ? "\(minutes):\(padded(seconds % 60))" : "\(seconds / 3600):\(padded(minutes)):\(padded(seconds % 60))"
  }
}
