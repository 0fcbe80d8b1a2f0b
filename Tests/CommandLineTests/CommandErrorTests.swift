import PushCore
import ServiceTools
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

struct CommandErrorTests {
  @Test func reportsForPeopleAndForMachines() {
    let error = CommandError(.input, "line 1\nis \"bad\"", hint: "repair it")
    expect(error.report(json: false), is: "error: line 1\u{FFFD}is \"bad\"\n  hint: repair it\n")
    expect(
      error.report(json: true),
      is: #"{"error":{"code":"input","message":"line 1\nis \"bad\"","hint":"repair it"}}"# + "\n")
    expect(CommandError(.failed, "no").report(json: true).contains(#""hint":null"#))
  }

  @Test func everyKindHasTheExitStatusOfTheContract() {
    let statuses: [CommandError.Code: Int32] = [
      .notFound: 1, .failed: 1, .usage: 64, .input: 65, .configuration: 65, .conflict: 65, .unreachable: 69,
      .defect: 70,
    ]
    for (code, status) in statuses { expect(code.exitStatus, is: status) }
  }

  @Test func errorsOfTheModulesKeepTheirText() {
    let job = CommandError(JobError(field: "lane", message: "unknown value 'x'", hint: "known: urgent"))
    expect(job, is: CommandError(.input, "lane: unknown value 'x'", hint: "known: urgent"))
    struct UnexpectedError: Error {}
    expect(CommandError(UnexpectedError()).code, is: .defect)
    let configuration = ConfigurationError(key: "a", message: "is missing", origin: "x.yaml line 3", hint: "add it")
    expect(
      CommandError(configuration), is: CommandError(.configuration, "a: is missing, in x.yaml line 3", hint: "add it"))
  }
}

struct ExitStatusTests {
  @Test(
    arguments: [
      ([], 0, "USAGE: carillon"),
      (["--help"], 0, "USAGE: carillon"),
      (["campaign"], 0, "USAGE: carillon campaign"),
      (["help", "devices", "import"], 0, "carillon devices import devices.csv"),
      (["devices", "import", "--help"], 0, "carillon devices import devices.csv"),
      (["--version"], 0, "0."),
    ] as [([String], Int32, String)])
  func helpIsAResult(arguments: [String], status: Int32, says: String) async throws {
    let output = try await CarillonCommand.run(arguments)
    expect(output.exit, is: .status(status))
    expect(output.standardOutput.contains(says))
    expect(output.standardError.isEmpty)
  }

  @Test(arguments: [
    (["wroker"], "error: 'carillon' has no command 'wroker'\n  hint: did you mean 'worker'?\n"),
    (
      ["campaign", "sumbit", "x"],
      "error: 'carillon campaign' has no command 'sumbit'\n  hint: did you mean 'submit'?\n"
    ),
    (
      ["campaign", "submit"],
      "error: Missing expected argument '<file>'\n  hint: see 'carillon campaign submit --help'\n"
    ),
    (["simulate"], "error: Give either --init DIR or --directory DIR.\n  hint: see 'carillon simulate --help'\n"),
    (
      ["campaign", "show", "--json"],
      #"{"error":{"code":"usage","message":"Missing expected argument '<id>'","hint":"see 'carillon campaign show --help'"}}"#
        + "\n"
    ),
  ])
  func wrongArgumentsAreUsageErrors(arguments: [String], says: String) async throws {
    let output = try await CarillonCommand.run(arguments)
    expect(output.exit, is: .status(64))
    expect(output.standardError, is: says)
    expect(output.standardOutput.isEmpty)
  }
}
