import Redis
import TestSupport

/// The keys that remain in Redis after campaigns have ended. Only permitted keys may remain.
///
/// Workers remove dead workers and empty their lists only after a lease, so this check waits for them. Lists of
/// unsealed targets and token buckets expire.
struct Leftovers {
  let world: FaultWorld

  /// Names of the permitted control keys. The second set has names that are followed by an id or an app's name.
  private static let control: Set<String> = [
    "store", "workers", "all", "ended", "expiring", "dead", "feedback", "segments", "epoch", "applied",
    "instances", "housekeeper", "housekeeping", "reports", "changes", "alarms", "audit",
    "templates", "backends",
  ]
  private static let controlOfCampaign: Set<String> = [
    "job", "campaign", "finished", "answers", "timeline", "template",
  ]
  /// Permitted slice keys.
  private static let slice: Set<String> = [
    "users", "devices", "attributes", "owner", "taken", "pressure", "departures", "removals", "erased", "retained",
    "quarantine",
  ]
  private static let sliceOfCampaign: Set<String> = [
    "segment", "stated", "recipients", "audience", "slice", "targets", "ledger", "reasons", "results",
  ]

  /// - Returns: a line for every key that must not exist.
  func find(within limit: Duration = .seconds(30)) async throws -> [String] {
    // A worker has to clean up, but a case may have ended with all its workers dead.
    let ended = Set(world.campaigns.map(\.id))
    var found: [String] = []
    do {
      try await until("everything is cleared up", within: limit, every: .milliseconds(500)) {
        found = try await left(by: ended)
        return found.isEmpty
      }
    } catch {
      guard !found.isEmpty else { throw error }
      return found.prefix(10).map { "left behind: \($0)" } + (found.count > 10 ? ["… \(found.count) in all"] : [])
    }
    return []
  }

  private func left(by campaigns: Set<String>) async throws -> [String] {
    var left: [String] = []
    for key in try await keys() {
      guard let brace = key.firstIndex(of: "}") else { continue }
      let isControl = !key[..<brace].contains(":")
      let words = key[brace...].dropFirst(2).split(separator: ":", maxSplits: 1).map(String.init)
      let plain = isControl ? Self.control : Self.slice
      let named = isControl ? Self.controlOfCampaign : Self.sliceOfCampaign
      if words.count == 1 ? plain.contains(words[0]) : words.first.map(named.contains) ?? false {
        if words.count == 2, words[0] == "slice", campaigns.contains(words[1]) { left += try await faults(of: key) }
      } else {
        // A worker that was frozen for a time may have requested permits for a campaign that has ended.
        let mayExpire = ["building", "rate", "quota"].contains(words.first)
        if mayExpire, try await expires(key) { continue }
        left.append(key)
      }
    }
    let known = Set(world.workers.map(\.name))
    for worker in try await world.redis.command("ZRANGE", "{\(world.namespace)}:workers", 0, -1).get() {
      if let name = worker.string, !known.contains(name) { left.append("worker \(name) is still listed") }
    }
    return left
  }

  /// Returns whether a key has an expiry or no longer exists.
  private func expires(_ key: String) async throws -> Bool {
    try await world.redis.command("TTL", key).get().integer != -1
  }

  /// Returns the problems of an ended campaign's slice.
  private func faults(of slice: String) async throws -> [String] {
    let reply = try await world.redis.command("HMGET", slice, "phase", "claim", "lease", "doubt", "waiting").get()
    var faults: [String] = []
    let phase = reply[0].string ?? "none"
    if phase != "done", phase != "cancelled" { faults.append("\(slice) is in phase \(phase)") }
    if !reply[1].isNull || !reply[2].isNull { faults.append("\(slice) has a claim or lease") }
    if (reply[3].integer ?? 0) != 0 || (reply[4].integer ?? 0) != 0 {
      faults.append("\(slice): \(reply[3]) in doubt, \(reply[4]) waiting")
    }
    return faults
  }

  private func keys() async throws -> Set<String> {
    try await world.servers.keys("{\(world.namespace)*", by: world.redis)
  }
}
