import Foundation
import Glibc

extension ChildProcess {
  /// Returns whether the program has a handler for a signal, or blocks it until it has one (proc(5), `SigCgt` and
  /// `SigBlk`).
  ///
  /// A program that is just starting blocks all signals for a moment, which does not count.
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
