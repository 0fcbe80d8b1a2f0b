import CommandSupport
import PushCore

/// One line that says how far something has come.
struct ProgressLine {
  /// What is going on, such as `importing`.
  var label: String
  var done: Int
  /// `nil` when the end is not known.
  var total: Int?
  /// What is counted, such as `rows`.
  var unit: String
  var seconds: Double
  /// What was done before the time began.
  var first = 0

  /// The line of a log.
  var plain: String {
    var text = "\(label): \(done.grouped)"
    if let total, total > 0 { text += " of \(total.grouped)" }
    text += " \(unit)"
    if let total, total > 0 { text += ", \(min(100, done * 100 / total)) %" }
    if seconds >= 1 { text += ", \(Int(Double(done - first) / seconds).grouped)/s" }
    if let total, let remaining = remaining(total) { text += ", \(Self.clock(remaining)) left" }
    return text
  }

  /// The same for machines.
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

  /// The line, at most `width` characters wide.
  func text(width: Int) -> String {
    var tail = done.grouped
    if let total { tail += "/" + total.grouped }
    tail += " " + unit
    if seconds >= 1 { tail += "  " + Int(Double(done - first) / seconds).grouped + "/s" }
    if let total, let remaining = remaining(total) { tail += "  " + Self.clock(remaining) + " left" }
    guard let total, total > 0 else { return String("\(label)  \(tail)".prefix(width)) }
    let share = min(1, Double(done) / Double(total))
    let percent = "\(Int(share * 100))%"
    // label, percent, brackets and blanks stand around the bar; below ten cells it says nothing.
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

  /// `75` as `1:15`, `3675` as `1:01:15`.
  static func clock(_ seconds: Int) -> String {
    let padded = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
    let minutes = seconds / 60 % 60
    return seconds < 3600
      ? "\(minutes):\(padded(seconds % 60))" : "\(seconds / 3600):\(padded(minutes)):\(padded(seconds % 60))"
  }
}
