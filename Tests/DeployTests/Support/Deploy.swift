import Foundation
import TestSupport

/// The folder `deploy` of this package, and programs that may be missing on the machine.
enum Deploy {
  /// Folder of the package.
  static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized

  /// Returns the path of a file in `deploy`.
  static func path(_ name: String) -> String { package.appending(path: "deploy").appending(path: name).path }

  /// Returns whether `PATH` contains a program.
  static func has(_ program: String) -> Bool {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
    }
  }
}
