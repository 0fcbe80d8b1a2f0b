import CampaignStore
import EventLoop
import Foundation
import Glibc
import HTTP2
import PushTransport
import TLS

extension MachineFacts {
  /// Returns the present facts of this machine.
  ///
  /// - Parameter zones: the time zone database of workers.
  static func current(zones: ZoneDatabase = .system) -> MachineFacts {
    // The creation of an event loop raises the limit of open files, as in every command. The raised limit is reported.
    _ = EventLoop(label: "doctor")
    var limit = rlimit()
    // getrlimit(2) can't fail for a resource that exists.
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return MachineFacts(
      descriptors: Int(clamping: limit.rlim_cur), availableMemory: available(in: contents("/proc/meminfo") ?? ""),
      memoryLimit: contents("/sys/fs/cgroup/memory.max").flatMap {
        Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
      },
      isClockSynchronised: SystemClock.isKept, libcurl: CurlLibrary.version, nghttp2: HTTP2Library.version,
      openSSL: TLSLibrary.version, zones: facts(of: zones))
  }

  static func facts(of zones: ZoneDatabase) -> ZoneFacts {
    ZoneFacts(
      folder: zones.folder, isThere: zones.isThere,
      lacksOldNames: ["US/Pacific", "Asia/Calcutta"].contains { zones.rules($0) == nil })
  }

  /// Returns the available memory in bytes from the text of `/proc/meminfo`, whose numbers are in kB (proc_meminfo(5)).
  static func available(in text: String) -> Int? {
    text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }.flatMap { line in
      line.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 }
    }
  }

  private static func contents(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
