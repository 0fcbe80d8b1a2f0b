import CommandSupport
import Foundation
import Glibc

/// Resource usage of processes and of the machine so far, from the kernel (proc(5)).
enum ProcessCost {
  /// Returns the CPU time of a process, user and system, in microseconds. The resolution is ten milliseconds.
  static func cpuMicroseconds(of process: pid_t) -> Double {
    cpuMicroseconds(stat: contents("/proc/\(process)/stat"))
  }

  /// - Parameter stat: a line of `/proc/PID/stat`. The program's name in it may contain blanks and brackets.
  static func cpuMicroseconds(stat: String) -> Double {
    guard let bracket = stat.lastIndex(of: ")") else { return 0 }
    let fields = stat[stat.index(after: bracket)...].split(separator: " ")
    // utime and stime are the fields 14 and 15 of the line. The name is the second field.
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) * 1e6 / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Returns the peak resident memory of a process so far, in bytes.
  static func peakBytes(of process: pid_t) -> Double {
    for line in contents("/proc/\(process)/status").split(separator: "\n") where line.hasPrefix("VmHWM:") {
      return line.split(separator: " ").dropFirst().first.flatMap { Double($0) }.map { $0 * 1024 } ?? 0
    }
    return 0
  }

  /// Returns the CPU time of all cores since the start of the machine, in microseconds.
  static func machineMicroseconds() -> Double { machineMicroseconds(stat: contents("/proc/stat")) }

  /// - Parameter stat: `/proc/stat`, whose first line is the sum of all cores: user, nice, system, idle, iowait, …
  static func machineMicroseconds(stat: String) -> Double {
    let ticks = stat.prefix { $0 != "\n" }.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
    guard ticks.count == 8 else { return 0 }
    return (ticks.reduce(0, +) - ticks[3] - ticks[4]) * 1e6 / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Returns the CPU time of this process in microseconds.
  static func ownMicroseconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_utime.microseconds + usage.ru_stime.microseconds
  }

  private static func contents(_ path: String) -> String {
    (try? InputFile.contents(path, limit: 1 << 20)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}
