import Foundation
import TestKit
import TestSupport
import Testing

/// Checks with the tools of other projects. Each script of `Checks` validates files of `deploy` with their schemas and
/// changes nothing. It also breaks copies of the files, and fails if the tool does not find the error.
@Suite(.takesTurns) struct CheckTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Checks")
  private static let scripts =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix("_check.py") && $0 != promtool }.sorted()
  /// The script that needs promtool, which may be missing although the other tools are present.
  private static let promtool = "promtool_check.py"
  private static let python = Deploy.package.appending(path: ".build/checkers/bin/python").path
  private static let isPresent = FileManager.default.isExecutableFile(atPath: python)

  @Test func thereAreChecks() { expect(!Self.scripts.isEmpty) }

  @Test(
    .enabled(if: isPresent, ".build/checkers is missing: deploy/install-checkers"), .timeLimit(.minutes(6)),
    arguments: scripts)
  func holds(script: String) async throws { try await Self.run(script) }

  @Test(
    .enabled(if: isPresent && PromtoolCommand.isPresent, "promtool is missing: deploy/install-checkers"),
    .timeLimit(.minutes(6)))
  func promtoolAcceptsTheMonitoring() async throws { try await Self.run(Self.promtool) }

  private static func run(_ script: String) async throws {
    let output = try await ChildProcess.run(
      python, [folder.appending(path: script).path],
      environment: ["CARILLON": CarillonCommand.path, "PYTHONDONTWRITEBYTECODE": "1"], folder: Deploy.package)
    expect(output.exit, is: .status(0), "\(output.standardOutput)\(output.standardError)")
  }
}
