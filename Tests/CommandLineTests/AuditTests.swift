import TestSupport
import Testing

/// The audit log has the changes that commands make, with the user who ran the command.
struct AuditTests {
  @Test func changesByCommandsAreRecorded() async throws {
    let world = try await CarillonWorld(devices: 3)
    try await world.succeed("segment", "add", "vip", "u0", "u1")
    try await world.succeed("segment", "remove-users", "vip", "u1")
    try await world.succeed("segment", "define", "rest", "* & !vip")
    try await world.succeed("segment", "remove", "rest")
    try await world.succeed("segment", "import", "fans", "-", input: "u1\nu2\n")
    try await world.succeed("segment", "import", "fans", "-", "--replace", input: "u1\n")
    try await world.succeed("suppression", "add", "news", "u2")
    try await world.succeed("suppression", "remove", "news", "u2")
    try await world.submit("a")
    try await world.succeed("quarantine", "release", "--all")
    try await world.succeed("quarantine", "purge", "--all", "--yes")
    for id in ["d1", "d2"] {
      let job = CarillonWorld.job(id)
      try await world.server.command(
        "xadd", "{\(world.namespace)}:dead", "*", "reason", "r", "hint", "h", "id", id, "size",
        String(job.utf8.count), "job", job)
    }
    let key = try #require(try JSONObject.all(in: await world.succeed("dead", "list", "--json")).last?.text("key"))
    try await world.succeed("dead", "retry", key)
    try await world.succeed("dead", "drop", "--all", "--yes")
    let log = try await world.server.command("xrange", "{\(world.namespace)}:audit", "-", "+")
    let lines = log.split(separator: "\n").map(String.init)
    let actions = lines.filter { $0.contains(".") && !$0.contains(":") && !$0.contains("@") }
    #expect(
      actions == [
        "segment.add", "segment.remove", "segment.define", "segment.delete", "segment.import", "segment.replace",
        "suppression.add", "suppression.remove", "campaign.submit", "quarantine.release", "quarantine.purge",
        "dead.retry", "dead.drop",
      ], "\(log)")
    #expect(lines.count { $0.hasPrefix("cli:") } == actions.count)
  }
}
