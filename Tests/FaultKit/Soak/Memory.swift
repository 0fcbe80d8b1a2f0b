import Foundation

/// The memory of a process.
enum Memory {
  /// Returns the resident kB of a process (proc(5), VmRSS); `nil` if it has ended.
  static func resident(_ process: Int32) -> Int? {
    guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else { return nil }
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
  }
}
