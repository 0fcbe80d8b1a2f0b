import CampaignStore
import PushCore
import TestKit
import TestSupport
import Testing

@testable import carillon

@Suite(.takesTurns) struct LintTests {
  private func lint(_ arguments: String..., input: String = "") async throws -> ChildProcess.Output {
    let folder = try ScratchFolder()
    return try await CarillonCommand.run(["lint"] + arguments, folder: folder.url, input: input)
  }

  @Test func findingsArePrintedAsCompilersDo() async throws {
    let output = try await lint("-", input: "{\"aps\":{\"alert\":\"a\",\n\"badge\":\"1\",\"x-mine\":1}}")
    expect(output.exit, is: .status(1))
    expect(
      output.standardOutput,
      is: """
        standard input:2:1: error: aps.badge: must be a number, not a string (remove the quotes)
            aps-type: Apple, “Generating a remote notification”
        standard input:2:13: warning: aps.x-mine: is not one of Apple's keys: the app can't read it \
        inside aps (move it out of aps, to the top level)
            aps-custom: Apple, “Generating a remote notification”
        standard input: payload as alert (by its keys; --type overrides it), 44 of 4096 bytes \
        (5120 as voip and broadcast), 1 error, 1 warning

        """)
  }

  @Test func warningsAloneExit0() async throws {
    let output = try await lint("-", "--type", "alert", "--json", input: #"{"aps":{"alert":"a","x-mine":1}}"#)
    expect(output.exit, is: .status(0))
    let json = try JSONObject(output.standardOutput)
    expect(json.number("errors") == 0 && json.number("warnings") == 1)
    expect(json.text("kind") == "payload" && json.text("pushType") == "alert" && json.bool("inferred") == false)
    let finding = try #require(json.objects("findings")?.first)
    expect(finding.text("rule") == "aps-custom" && finding.text("path") == "aps.x-mine")
    expect(finding.number("line") == 1 && finding.number("column") == 21)
    expect(finding.text("source")?.hasPrefix("Apple, "), is: true)
    let size = try #require(json.objects("sizes")?.first)
    expect(size.text("for") == "alert" && size.number("bytes") == 32 && size.number("limit") == 4096)
    expect(size.bool("fits"), is: true)
  }

  @Test func jobIsCheckedWithItsAppIfAConfigurationExists() async throws {
    let world = try await CarillonWorld()
    let job = CarillonWorld.job("a").replacing(#""app":"news""#, with: #""app":"nwes""#)
    let file = try world.folder.write("job.json", job)
    let known = try await world.run("lint", file)
    expect(known.exit, is: .status(1))
    expect(known.standardOutput.contains("\(file):1:11: error: app: no app 'nwes' in the configuration"))
    let unknown = try await lint(file)
    expect(unknown.exit, is: .status(0))
    expect(unknown.standardOutput.hasSuffix("job as alert, 22 of 4096 bytes, no findings\n"))
  }

  @Test func appOfAPayloadMustBeKnown() async throws {
    let world = try await CarillonWorld()
    let output = try await world.run("lint", "--app", "nwes", "-", input: "{}")
    output.expect(exit: 65, saying: "no app 'nwes'")
  }

  @Test func binaryInterfaceKeyNamesItsReplacement() async throws {
    let output = try await lint("-", input: "host: gateway.push.apple.com\nport: 2195\n")
    expect(output.exit, is: .status(1))
    for part in [
      "standard input:1:7: error: the binary interface's gateway, gone since 31 March 2021",
      "standard input:2:7: error: the port of the binary interface", "443 or 2197", "2 errors, 0 warnings",
    ] { expect(output.standardOutput.contains(part), "\(output.standardOutput)") }
  }

  @Test func invalidJSONExitsWith65() async throws {
    let output = try await lint("-", input: "{\"aps\": }")
    expect(output.exit == .status(65) && output.standardOutput == "")
    expect(output.standardError.contains("-: not valid JSON: line 1, column 9"))
    expect(try await lint("/nowhere.json").exit, is: .status(65))
    expect(try await lint().exit, is: .status(64))
    expect(try await lint("-", "--type", "alrt", input: "{}").exit, is: .status(64))
  }

  @Test func rulesAreListedWithTheirSources() async throws {
    let text = try await lint("--rules")
    expect(text.exit, is: .status(0))
    expect(
      text.standardOutput.contains(
        "background-priority (error): A background push must not have priority 10.\n    Apple"))
    let rules = try JSONObject.all(in: try await lint("--rules", "--json").standardOutput)
    expect(Set(rules.compactMap { $0.text("severity") }), is: ["error", "warning"])
  }

  /// A table of bad jobs. Every command that reads a job refuses all of them.
  @Test func everyCommandThatReadsAJobRefusesTheSame() async throws {
    let world = try await CarillonWorld()
    _ = try await world.succeed(
      "devices", "import", "-", "--format", "csv", input: "user,token,app,firstName\nada,aa01,news,Ada\n")
    let jobs = [
      (CarillonWorld.job("a", more: #","sendAt":"2020-01-01T00:00:00Z""#), "sendAt", "passed"),
      (CarillonWorld.job("a", more: #","sendAt":"2040-01-01T00:00:00Z""#), "sendAt", "366 days ahead"),
      (CarillonWorld.job("a", more: #","expiration":"2020-01-01T00:00:00Z""#), "expiration", "has passed"),
      (CarillonWorld.job("a", audience: #"{"segment":"none"}"#), "audience.segment", "there is no segment 'none'"),
      (CarillonWorld.job("a", content: #""template":"none""#), "template", "there is no template 'none'"),
      (
        CarillonWorld.job("a", content: #""apns":{"payload":{"aps":{"alert":"{{#if x}}"}}}"#), "apns.payload.aps.alert",
        "Mustache"
      ),
    ]
    for (job, field, part) in jobs {
      let lint = try await world.run("lint", "-", "--json", input: job)
      let errors = try #require(
        try JSONObject(lint.standardOutput).objects("findings")?.filter { $0.text("severity") == "error" })
      expect(lint.exit == .status(1) && errors.map { $0.text("path") } == [field], "\(lint.standardOutput)")
      let message = "\(field): \(errors.first?.text("message") ?? "")"
      expect(message.contains(part))
      for arguments in [["submit", "-"], ["submit", "-", "--estimate"], ["preview", "-", "--user", "ada"]] {
        let output = try await CarillonCommand.run(
          ["campaign"] + arguments, environment: world.environment, folder: world.folder.url, input: job)
        // The elapsed time differs between two processes.
        let text = output.standardError.replacing(#/passed \d+d ago/#, with: "passed")
        expect(output.exit, is: .status(65), "\(arguments) \(job)")
        expect(text.contains(message.replacing(#/passed \d+d ago/#, with: "passed")), "\(text) \(message)")
      }
    }
  }

  @Test func lintLooksUpTemplatesAndAttributes() async throws {
    let world = try await CarillonWorld()
    _ = try await world.succeed(
      "devices", "import", "-", "--format", "csv", input: "user,token,app,firstName\nada,aa01,news,Ada\n")
    let template = #"{"apns":{"payload":{"aps":{"alert":"Hi {{firstname|you}}"}}}}"#
    _ = try await world.succeed("template", "put", "hello", "-", input: template)
    let job = CarillonWorld.job(
      "a", audience: #"{"segment":"*","where":"plann = 'gold'"}"#, content: #""template":"hello""#)
    let warnings = [
      ": no user has the attribute 'firstname' (did you mean 'firstName'?)", ": no user has the attribute 'plann'",
    ]
    let lint = try await world.run("lint", "-", input: job)
    let estimate = try await world.run("campaign", "submit", "-", "--estimate", input: job)
    let submit = try await world.run("campaign", "submit", "-", input: job)
    expect(lint.exit == .status(0) && estimate.exit == .status(0) && submit.exit == .status(0), "\(lint)")
    for text in [lint.standardOutput, estimate.standardError, submit.standardError] {
      for warning in warnings { expect(text.contains(warning), "\(text)") }
    }
    expect(lint.standardOutput.contains("2 warnings") && !lint.standardOutput.contains("not checked"))
    var alone = world
    alone.environment["CARILLON_REDIS_URL"] = "redis://127.0.0.1:1"
    let plain = try await alone.run("lint", "-", input: CarillonWorld.job("a"))
    expect(plain.exit == .status(0) && plain.standardOutput.contains("not checked: templates"), "\(plain)")
    let named = try await alone.run("lint", "-", input: job)
    expect(named.exit == .status(1) && named.standardOutput.contains("templates are kept in the store"), "\(named)")
  }

  @Test func nextRunsOfARepeatedJobAreShownByTheClocksOfItsZone() async throws {
    let zones = ZoneDatabase.system
    func runs(_ more: String, now: String) throws -> NextRuns {
      let job = CarillonWorld.job("digest", more: more)
      let instant = try #require(Timestamp.milliseconds(now)) / 1000
      return try #require(NextRuns(Array(job.utf8), zones: zones, now: instant))
    }
    // Summer time ends between the runs; the local time of the run stays 09:00.
    let cron = #""cron":"0 9 * * mon-fri","zone":"Europe/Berlin""#
    let berlin = try runs(#","repeat":{\#(cron)}"#, now: "2026-10-22T12:00:00Z")
    expect(
      berlin.lines,
      is: [
        "next runs, in time zone Europe/Berlin:",
        "    2026-10-23T09:00  2026-10-23T07:00:00Z  digest~20261023T0900",
        "    2026-10-26T09:00  2026-10-26T08:00:00Z  digest~20261026T0900",
        "    2026-10-27T09:00  2026-10-27T08:00:00Z  digest~20261027T0900",
        "    2026-10-28T09:00  2026-10-28T08:00:00Z  digest~20261028T0900",
        "    2026-10-29T09:00  2026-10-29T08:00:00Z  digest~20261029T0900",
      ])
    let two = try runs(#","repeat":{\#(cron),"count":2}"#, now: "2026-10-22T12:00:00Z")
    expect(two.runs, is: Array(berlin.runs.prefix(2)))
    let local = try runs(#","localTime":true,"repeat":{"cron":"0 9 * * *"}"#, now: "2026-11-30T12:00:00Z")
    expect(local.lines[0], is: "next runs, in each device's local time:")
    expect(local.lines[1], is: "    2026-12-01T09:00  starts 2026-11-30T19:00:00Z  digest~20261201T0900")
    let over = try runs(
      #","repeat":{"cron":"0 9 1 1 *","end":"2026-06-01T00:00:00Z"}"#, now: "2026-11-30T12:00:00Z")
    expect(over.lines, is: ["no runs: no time of '0 9 1 1 *' remains before its end"])
    // The command prints the runs too, even for a job with a template that it can't read here.
    let job = #"{"id":"a","app":"news","audience":{"segment":"*"},"template":"welcome","repeat":{"cron":"0 9 * * *"}}"#
    let text = try await lint("-", input: job).standardOutput
    expect(text.contains("next runs, in time zone UTC:\n") && text.contains("T09:00  2"), "\(text)")
    let json = try JSONObject(try await lint("-", "--json", input: job).standardOutput)
    expect(json.object("repeat")?.objects("runs")?.count == 5 && json.object("repeat")?.text("zone") == "UTC")
    let plain = try await lint("-", input: CarillonWorld.job("a"))
    expect(!plain.standardOutput.contains("runs"))
  }
}
