import APNs
import APNsSimulator
import PushCore
import TLS
import ServiceTools
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// Invalid combinations of the reference. The command and the workers refuse them with the same words, or `lint` at
/// least warns.
@Suite(.takesTurns) struct CombinationTests {
  private static let refused = CombinationTable.rows.filter { $0.verdict == .refused }
  private static let warned = CombinationTable.rows.filter { $0.verdict == .warned }

  /// A shared configuration with apps of every kind. Each test has only its own queue.
  private static let configuration = Task {
    let folder = try ScratchFolder("combinations")
    let key = try folder.writeSecret("key.p8", ECPrivateKey.generate().pem)
    let authority = try PushCertificateAuthority()
    let token = "token: { keyFile: \(key), keyID: ABC123DEFG, teamID: DEF123GHIJ }"
    let apps = [
      "news": "com.example.news", "activity": "com.example.news.push-type.liveactivity",
      "talk": "com.example.news.voip-ptt", "files": "com.example.news.pushkit.fileprovider",
      "locations": "com.example.news.location-query", "controls": "com.example.news.push-type.controls",
      "widgets": "com.example.news.push-type.widgets", "calls": "com.example.voip", "card": "pass.com.example.card",
      "site": "web.com.example",
    ]
    var lines = apps.map { "  \($0): { apns: { topic: \($1), \(token) } }" }
    for (app, topics) in ["certified": ["com.example.sport"], "foreign": ["com.example.sport.voip"]] {
      let identity = try authority.issue(topic: topics[0], topics: topics)
      let file = try folder.writeSecret("\(app).pem", identity.certificateChainPEM + identity.privateKeyPEM)
      lines.append("  \(app): { apns: { topic: com.example.sport, certificate: { file: \(file) } } }")
    }
    return (folder, try folder.write("carillon.yaml", "apps:\n" + lines.joined(separator: "\n") + "\n"))
  }

  private func makeWorld() async throws -> CarillonWorld {
    var world = try await CarillonWorld()
    world.environment["CARILLON_CONFIG"] = try await Self.configuration.value.1
    return world
  }

  /// - Returns: the error; `nil` if the job is in the queue now.
  private func submit(_ row: CombinationRow, _ world: CarillonWorld) async throws -> JSONObject? {
    let output = try await world.run("campaign", "submit", "-", "--json", input: row.job("job"))
    guard output.exit != .status(0) else { return nil }
    expect(output.exit, is: .status(65))
    return try JSONObject(output.standardError).object("error")
  }

  /// Returns the error that every reader of jobs reports for a row.
  private func refusal(to row: CombinationRow, _ id: String = "job") async throws -> JobError? {
    let configuration = try ConfigurationLoader(argument: await Self.configuration.value.1, environment: [:]).load()
    do throws(JobError) {
      _ = try CampaignJob.parse(Array(row.job(id).utf8), configuration.jobApps())
      return nil
    } catch {
      return error
    }
  }

  /// The short form has one row for each rule. ``sameJobsOnTheListEndOnTheDeadListInTheSameWords()`` has every row.
  @Test(arguments: TestForm.rows(refused, oneOfEach: \.rule))
  func badCombinationIsRefusedAtSubmit(
    _ row: CombinationRow
  ) async throws {
    let world = try await makeWorld()
    let refusal = try #require(try await refusal(to: row))
    let error = try #require(try await submit(row, world), "submitted")
    expect(error.text("code"), is: "input")
    expect(error.text("message") == refusal.reason && error.text("hint") == refusal.hint)
    expect(refusal.field, is: row.field)
    if row.rule == "job" {
      // The message contains the allowed values if there is no other hint.
      expect(refusal.hint != nil || refusal.message.contains("must") || refusal.field == "audience.channel")
    } else {
      let rule = try #require(APNsRule(rawValue: row.rule))
      expect(rule.severity, is: .error)
      expect(refusal.hint?.hasSuffix("rule \(row.rule): \(rule.source)"), is: true, "\(refusal)")
    }
    expect(try await world.server.command("LLEN", "{\(world.namespace)}:campaigns"), is: "0")
  }

  @Test func sameJobsOnTheListEndOnTheDeadListInTheSameWords() async throws {
    let world = try await makeWorld()
    for (number, row) in Self.refused.enumerated() {
      try await world.server.command("lpush", "{\(world.namespace)}:campaigns", row.job("bad-\(number)"))
    }
    try await world.drain()
    let dead = try JSONObject.all(in: await world.succeed("dead", "list", "--json"))
    let byID = Dictionary(uniqueKeysWithValues: dead.map { ($0.text("id") ?? "", $0) })
    for (number, row) in Self.refused.enumerated() {
      let job = try #require(byID["bad-\(number)"], "\(row.testDescription)")
      let refusal = try #require(try await refusal(to: row, "bad-\(number)"))
      expect(job.text("reason") == refusal.reason && job.text("hint") == refusal.hint, "\(row.testDescription)")
    }
    expect(dead.count, is: Self.refused.count)
    expect(try await world.succeed("campaign", "list", "--json"), is: "[]\n")
  }

  @Test(arguments: warned) func doubtfulCombinationIsWarnedOfAndSubmitted(_ row: CombinationRow) async throws {
    let world = try await makeWorld()
    let file = try world.folder.write("job.json", row.job("job"))
    let output = try await world.run("lint", "--json", file)
    expect(output.exit, is: .status(0))
    let findings = try JSONObject(output.standardOutput).objects("findings") ?? []
    let finding = try #require(findings.first { $0.text("rule") == row.rule }, "\(output.standardOutput)")
    expect(finding.text("path") == row.field && finding.text("severity") == "warning")
    expect(finding.text("source"), is: APNsRule(rawValue: row.rule)?.source)
    expect(try await submit(row, world) == nil)
  }

  @Test func pageHasTheTable() throws {
    let table = DocumentedTable("combinations", head: CombinationRow.head, rows: CombinationTable.rows.map(\.cells))
    expect(try table.documented(), is: table.markdown, "CARILLON_WRITE_TABLES=1 writes it")
  }
}
