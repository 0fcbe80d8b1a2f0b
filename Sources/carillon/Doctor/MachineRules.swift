import CampaignStore
import Glibc
import PushTransport

/// Facts about this machine and the loaded libraries.
struct MachineFacts: Equatable {
  /// Limit of open files per process.
  var descriptors: Int
  /// Available memory in bytes; `nil` if unknown.
  var availableMemory: Int?
  /// Memory limit of the control group in bytes; `nil` for no limit.
  var memoryLimit: Int?
  /// Whether the kernel's clock is synchronised; `nil` if unknown.
  var isClockSynchronised: Bool?
  var libcurl: String
  var nghttp2: String
  var openSSL: String
  var zones = ZoneFacts(folder: ZoneDatabase.systemFolder, isThere: true, lacksOldNames: false)
}

/// Facts about the time zone database of this machine.
struct ZoneFacts: Equatable {
  /// The folder of the database.
  var folder: String
  /// Whether the database exists.
  var isThere: Bool
  /// Whether deprecated zone names, which devices may still use, are missing.
  var lacksOldNames: Bool
}

/// Findings from ``MachineFacts``. Pure.
enum MachineRules {
  /// Smallest sufficient limit of open files. A worker needs three descriptors for each loop and one for each
  /// connection. At its start, a worker raises the limit that it inherits from its shell.
  static let fewDescriptors = 512
  /// Smallest sufficient memory in bytes. A worker needs about 60 MiB (`deploy/operations/sizing.md`).
  static let littleMemory = 128 << 20

  static func findings(_ facts: MachineFacts, engine: PushEngineKind) -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    findings.append(
      facts.descriptors < fewDescriptors
        ? .problem(
          .machine, "", "the limit of open files per process is \(facts.descriptors)",
          hint: "raise the limit: ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit")
        : .healthy(.machine, "", "the limit of open files per process is \(facts.descriptors)"))
    let room = [facts.availableMemory, facts.memoryLimit].compactMap(\.self).min()
    if let room {
      findings.append(
        room < littleMemory
          ? .problem(
            .machine, "", "a process has only \(room >> 20) MiB of memory",
            hint: "provide \(2 * littleMemory >> 20) MiB: a worker needs about 60 MiB, and an import needs more")
          : .healthy(.machine, "", "a process has \(room >> 20) MiB of memory"))
    }
    switch facts.isClockSynchronised {
    case true?: findings.append(.healthy(.machine, "", "the clock is synchronised"))
    case false?:
      findings.append(
        .advice(
          .machine, "", "the clock of this machine is not synchronised",
          hint: "run chrony or systemd-timesyncd; for a container, run it on the host"))
    case nil: break
    }
    findings.append(zones(facts.zones))
    findings += libraries(facts, engine: engine)
    return findings
  }

  private static func zones(_ facts: ZoneFacts) -> DoctorFinding {
    guard facts.isThere else {
      return .problem(
        .machine, "", "\(facts.folder) contains no time zones: localTime, quietHours and repeat don't work here",
        hint: "install the package tzdata, or set worker.zoneinfo")
    }
    guard !facts.lacksOldNames else {
      return .advice(
        .machine, "", "the time zones in \(facts.folder) lack deprecated names such as US/Pacific and Asia/Calcutta",
        hint:
          "install the package tzdata-legacy (Debian 13); without it, devices with such a name have no time zone"
      )
    }
    return .healthy(.machine, "", "the time zones in \(facts.folder) are complete, with deprecated names")
  }

  private static func libraries(_ facts: MachineFacts, engine: PushEngineKind) -> [DoctorFinding] {
    let text = "libcurl \(facts.libcurl), nghttp2 \(facts.nghttp2), \(facts.openSSL)"
    guard facts.libcurl.hasPrefix("7.") else { return [.healthy(.versions, "", text)] }
    return [
      engine == .curl
        ? .problem(
          .versions, "", text + ": libcurl 7 resets ended streams, and APNs then closes the connection",
          hint: "install libcurl 8 (Debian 12: from backports; Debian 13 has it), or set worker.engine: native")
        : .advice(
          .versions, "", text,
          hint: "libcurl 8 is recommended; with worker.engine: native, libcurl is only used for single requests")
    ]
  }
}

/// Findings from the versions of the fleet. Pure.
enum VersionRules {
  /// Returns the findings about different versions in the fleet.
  ///
  /// - Parameters:
  ///   - own: the version of this program.
  ///   - fleet: the versions of live workers.
  ///   - live: the number of live workers.
  static func findings(own: String, fleet: [String], live: Int) -> [DoctorFinding] {
    guard live > 0 else {
      return [
        .advice(
          .versions, "", "no worker runs, so version \(own) can't be compared with workers",
          hint: "start one: carillon worker")
      ]
    }
    guard fleet.contains(where: { $0 != own }) else {
      return [.healthy(.versions, "", "\(live) live workers, all with this version, \(own)")]
    }
    return [
      .advice(
        .versions, "", "this program has version \(own), workers have \(fleet.joined(separator: " and "))",
        hint: "upgrade the others one by one; campaigns continue during the upgrade")
    ]
  }
}
