import Foundation
import Glibc

extension ChildProcess {
  /// Returns whether the program has a handler for a signal, or blocks it until it has one.
  ///
  /// A program that is just starting blocks all signals for a moment; then the result is false.
  public func handles(_ signal: Int32) -> Bool {
    catches(signal) || has(signal, in: "SigBlk") && !has(SIGUSR1, in: "SigBlk")
  }

  /// Returns whether the program has a handler for a signal.
  public func catches(_ signal: Int32) -> Bool { has(signal, in: "SigCgt") }

  /// Returns whether a signal is in a set of `/proc/PID/status` (proc(5)).
  private func has(_ signal: Int32, in set: String) -> Bool {
    let status = (try? String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(set + ":") }
    let mask = line.flatMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) } ?? 0
    return mask & (1 << UInt64(signal - 1)) != 0
  }
}
