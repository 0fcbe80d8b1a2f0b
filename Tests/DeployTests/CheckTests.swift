import Foundation
import TestSupport
import Testing

/// What is checked by other people's tools rather than by ours: each script of `Checks` holds files of `deploy` against
/// their schemas, and mends nothing. It also breaks copies of them, and fails when nobody notices.
struct CheckTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Checks")
  private static let scripts =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).filter { $0.hasSuffix("_check.py") }
    .sorted()
  private static let python = Deploy.package.appending(path: ".build/checkers/bin/python").path
  private static let isPresent = FileManager.default.isExecutableFile(atPath: python)

  @Test func thereAreChecks() { #expect(!Self.scripts.isEmpty) }

  @Test(
    .enabled(if: isPresent, "not to be had: deploy/install-checkers makes .build/checkers"), .timeLimit(.minutes(3)),
    arguments: scripts)
  func holds(script: String) async throws {
    let output = try await ChildProcess.run(
      Self.python, [Self.folder.appending(path: script).path],
      environment: ["CARILLON": CarillonCommand.path, "PYTHONDONTWRITEBYTECODE": "1"], folder: Deploy.package)
    #expect(output.exit == .status(0), "\(output.standardOutput)\(output.standardError)")
  }
}
