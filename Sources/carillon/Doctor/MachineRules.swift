import CampaignStore
import Glibc
import PushTransport

/// What is known of this machine and of the libraries that the program runs with.
struct MachineFacts: Equatable {
  /// Files that the process may have open.
  var descriptors: Int
  /// Bytes that are free, or can be made so; `nil` where the system doesn't say.
  var availableMemory: Int?
  /// Bytes that the control group may use; `nil` for no limit.
  var memoryLimit: Int?
  /// Whether the kernel's clock is kept right from outside; `nil` where it doesn't say.
  var isClockSynchronised: Bool?
  var libcurl: String
  var nghttp2: String
  var openSSL: String
  var zones = ZoneFacts(folder: ZoneDatabase.systemFolder, isThere: true, lacksOldNames: false)
}

/// What is known of the time zones of this machine.
struct ZoneFacts: Equatable {
  /// Where they are looked for.
  var folder: String
  /// Whether there are any.
  var isThere: Bool
  /// Whether zones are missing that devices name by the names of old.
  var lacksOldNames: Bool
}

/// What follows from that. Pure.
enum MachineRules {
  /// A worker has three descriptors a loop and one a connection, and asks for more than its shell gives.
  static let fewDescriptors = 512
  /// A worker has some 60 MiB (`deploy/operations/sizing.md`).
  static let littleMemory = 128 << 20

  static func findings(_ facts: MachineFacts, engine: PushEngineKind) -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    findings.append(
      facts.descriptors < fewDescriptors
        ? .problem(
          .machine, "", "a process may have \(facts.descriptors) files open",
          cure: "raise it: ulimit -n 65536, or LimitNOFILE=65536 in the unit")
        : .well(.machine, "", "a process may have \(facts.descriptors) files open"))
    let room = [facts.availableMemory, facts.memoryLimit].compactMap(\.self).min()
    if let room {
      findings.append(
        room < littleMemory
          ? .problem(
            .machine, "", "there are \(room >> 20) MiB of memory for a process",
            cure: "a worker takes some 60 MiB, and an import more: give it \(2 * littleMemory >> 20)")
          : .well(.machine, "", "there are \(room >> 20) MiB of memory"))
    }
    switch facts.isClockSynchronised {
    case true?: findings.append(.well(.machine, "", "the clock is kept right by the network"))
    case false?:
      findings.append(
        .advice(
          .machine, "", "nothing keeps this machine's clock right",
          cure: "run chrony or systemd-timesyncd; in a container it is the host's to do"))
    case nil: break
    }
    findings.append(zones(facts.zones))
    findings += libraries(facts, engine: engine)
    return findings
  }

  private static func zones(_ facts: ZoneFacts) -> DoctorFinding {
    guard facts.isThere else {
      return .problem(
        .machine, "", "there are no time zones in \(facts.folder): localTime, quietHours and repeat can't be run here",
        cure: "install the package tzdata, or set worker.zoneinfo")
    }
    guard !facts.lacksOldNames else {
      return .advice(
        .machine, "", "the time zones in \(facts.folder) lack names of old, such as US/Pacific and Asia/Calcutta",
        cure: "install the package tzdata-legacy (Debian 13): devices that name one count as of no zone")
    }
    return .well(.machine, "", "the time zones are in \(facts.folder), with their names of old")
  }

  private static func libraries(_ facts: MachineFacts, engine: PushEngineKind) -> [DoctorFinding] {
    let text = "libcurl \(facts.libcurl), nghttp2 \(facts.nghttp2), \(facts.openSSL)"
    guard facts.libcurl.hasPrefix("7.") else { return [.well(.versions, "", text)] }
    return [
      engine == .curl
        ? .problem(
          .versions, "", text + ": libcurl 7 resets streams that have ended, and APNs closes connections for that",
          cure: "take libcurl 8 (Debian 12: from backports; Debian 13 has it), or worker.engine: native")
        : .advice(
          .versions, "", text,
          cure: "libcurl 8 is recommended; with worker.engine: native it only sends single requests")
    ]
  }
}

/// What of versions is worth a word. Pure.
enum VersionRules {
  /// - Parameters:
  ///   - own: of this program.
  ///   - fleet: of live workers.
  ///   - live: how many live.
  static func findings(own: String, fleet: [String], live: Int) -> [DoctorFinding] {
    guard live > 0 else {
      return [
        .advice(.versions, "", "no worker is there to compare version \(own) with", cure: "start one: carillon worker")
      ]
    }
    guard fleet.contains(where: { $0 != own }) else {
      return [.well(.versions, "", "\(live) live workers, all of this version, \(own)")]
    }
    return [
      .advice(
        .versions, "", "this is \(own), and workers are \(fleet.joined(separator: " and "))",
        cure: "upgrade the rest one after the other; campaigns go on meanwhile")
    ]
  }
}
