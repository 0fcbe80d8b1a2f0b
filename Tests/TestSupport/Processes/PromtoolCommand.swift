import Foundation

/// Prometheus' `promtool`, from `deploy/install-checkers`.
public enum PromtoolCommand {
  /// Its path.
  public static let path = URL(filePath: #filePath).appending(path: "../../../../.build/checkers/bin/promtool")
    .standardized.path

  /// Whether it is installed.
  public static var isPresent: Bool { FileManager.default.isExecutableFile(atPath: path) }

  /// Checks a scrape with Prometheus' parser and its rules for names.
  ///
  /// - Returns: what promtool prints, which is empty if it has no complaint.
  public static func complaints(about metrics: String) async throws -> String {
    let folder = try ScratchFolder("metrics")
    let file = try folder.write("scrape", metrics)
    // The folder is deleted with the last reference.
    defer { withExtendedLifetime(folder) {} }
    let output = try await ChildProcess.run("sh", ["-c", #"exec "$0" check metrics < "$1""#, path, file])
    let text = output.standardOutput + output.standardError
    return output.exit == .status(0) ? text : "\(output.exit): \(text)"
  }
}
