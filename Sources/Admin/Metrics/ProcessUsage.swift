import Foundation
import Glibc

/// Resource usage of this process, under the metric names that all Prometheus clients use.
public struct ProcessUsage {
  var processorSeconds: Double
  var residentBytes: Int
  var virtualBytes: Int
  var openDescriptors: Int
  var maximumDescriptors: Int
  var threads: Int
  /// Start of the process in UNIX seconds.
  var startedAt: Double

  /// Returns the current usage; `nil` without /proc.
  static func read() -> ProcessUsage? {
    guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
      // proc(5): the second field is the program's name in parentheses and may contain any character.
      let end = stat.lastIndex(of: ")")
    else { return nil }
    // Skip the first two fields. proc(5) counts the fields from one.
    let fields = stat[stat.index(after: end)...].split(separator: " ")
    func field(_ number: Int) -> Double { fields.count > number - 3 ? Double(fields[number - 3]) ?? 0 : 0 }
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    return ProcessUsage(
      processorSeconds: (field(14) + field(15)) / ticks,
      residentBytes: Int(field(24)) * Int(sysconf(Int32(_SC_PAGESIZE))), virtualBytes: Int(field(23)),
      openDescriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0,
      maximumDescriptors: Int(clamping: limit.rlim_cur), threads: Int(field(20)),
      startedAt: bootTime + field(22) / ticks)
  }

  /// Start of the machine in UNIX seconds.
  private static let bootTime: Double = {
    let stat = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
    let line = stat.split(separator: "\n").first { $0.hasPrefix("btime ") }
    return line.flatMap { Double($0.dropFirst(6)) } ?? 0
  }()

  /// Writes the process' use of resources, if the system reports it, and the number of dropped log lines.
  ///
  /// - Parameter droppedLogLines: number of log lines that were dropped since the start of the process.
  public static func write(to metrics: inout Exposition, droppedLogLines: Int) {
    read()?.write(to: &metrics)
    metrics.single(
      "carillon_log_lines_dropped_total", .counter,
      "Log lines that were dropped because the reader was too slow or the disk was full.", droppedLogLines)
  }

  func write(to metrics: inout Exposition) {
    metrics.family("process_cpu_seconds_total", .counter, "Processor time of user and system, in seconds.")
    metrics.sample(processorSeconds)
    metrics.single("process_resident_memory_bytes", .gauge, "Resident memory, in bytes.", residentBytes)
    metrics.single("process_virtual_memory_bytes", .gauge, "Virtual memory, in bytes.", virtualBytes)
    metrics.single("process_open_fds", .gauge, "Open file descriptors.", openDescriptors)
    metrics.single("process_max_fds", .gauge, "Maximum number of open file descriptors.", maximumDescriptors)
    metrics.single("process_threads", .gauge, "Threads.", threads)
    metrics.family("process_start_time_seconds", .gauge, "Start time of the process, in seconds since 1970.")
    metrics.sample(startedAt)
  }
}
