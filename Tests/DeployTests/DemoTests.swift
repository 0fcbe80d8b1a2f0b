import Foundation
import TestKit
import TestSupport
import Testing

/// `make demo` with fewer devices: the processes that `KEEP=1` leaves running, and the removal of everything else.
@Suite(
  .enabled(if: Deploy.has("redis-cli") && Deploy.has("jq"), "no jq or redis-cli"), .serialized,
  .timeLimit(.minutes(6)), .takesTurns)
struct DemoTests {
  private func start(in folder: ScratchFolder, ci: String) async throws -> ChildProcess {
    try await ChildProcess.start(
      Deploy.path("demo/run"), [],
      environment: [
        "CARILLON": CarillonCommand.path, "KEEP": "1", "CI": ci, "ROWS": "4000", "LATENCY": "800",
        "CARILLON_REDIS_PARTITIONS": "32", "TMPDIR": folder.url.path,
      ])
  }

  /// Checks that no process and no file of the demo remains.
  private func checkThatNothingIsLeft(in folder: ScratchFolder) throws {
    expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    for process in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(process) != nil {
      let line = (try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)) ?? ""
      expect(!line.contains(folder.url.path), "\(line)")
    }
  }

  @Test("with KEEP=1 the dashboard runs until a signal, and only the owner can read its token")
  func kept() async throws {
    let folder = try ScratchFolder("demo")
    let demo = try await start(in: folder, ci: "")
    let page = try #require(await demo.line(containing: "dashboard  http://"))
    let url = try #require(page.split(separator: " ").last)
    // Without a terminal, the demo writes the token to a file.
    let observed = try #require(await demo.line(containing: "token      in /"))
    let file = try #require(observed.split(separator: " ").last.map(String.init))
    expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    let token = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
    let status = try await ChildProcess.run(
      "curl", ["--silent", "--fail", "--header", "Authorization: Bearer \(token)", "\(url)api/v1/campaigns/demo"])
    expect(try JSONObject(status.standardOutput).text("state"), is: "completed")
    let html = try await ChildProcess.run("curl", ["--silent", "--fail", String(url)])
    expect(html.standardOutput.contains("<title>Carillon</title>"))
    expect(await demo.terminate(), is: .status(0))
    try checkThatNothingIsLeft(in: folder)
  }

  @Test("with KEEP=1 in CI the demo ends", .enabled(if: TestForm.isLong, "a second run of the demo: make faults"))
  func notKeptInCI() async throws {
    let folder = try ScratchFolder("demo")
    let demo = try await start(in: folder, ci: "true")
    _ = try #require(await demo.line(containing: "make demo KEEP=1 keeps the processes"))
    expect(await demo.waitForExit(), is: .status(0))
    try checkThatNothingIsLeft(in: folder)
  }
}
