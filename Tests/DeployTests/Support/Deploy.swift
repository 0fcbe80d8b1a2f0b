import Foundation
import TestSupport

/// The folder `deploy` of this package, and programs that may not be on the machine.
enum Deploy {
  /// The package.
  static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized

  /// The path of something in `deploy`.
  static func path(_ name: String) -> String { package.appending(path: "deploy").appending(path: name).path }

  /// Whether a program can be found in `PATH`.
  static func has(_ program: String) -> Bool {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
    }
  }
}
