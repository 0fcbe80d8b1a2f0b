import Foundation
import Glibc

extension ChildProcess {
  /// Whether the program has a handler for a signal, or holds it back until it has one (proc(5), `SigCgt` and `SigBlk`).
  ///
  /// A program that is just being started blocks all signals for a moment: that does not count.
  public func handles(_ signal: Int32) -> Bool {
    let status = (try? String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)) ?? ""
    func has(_ signal: Int32, _ name: String) -> Bool {
      let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
      let mask = line.flatMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) } ?? 0
      return mask & (1 << UInt64(signal - 1)) != 0
    }
    return has(signal, "SigCgt") || has(signal, "SigBlk") && !has(SIGUSR1, "SigBlk")
  }
}
