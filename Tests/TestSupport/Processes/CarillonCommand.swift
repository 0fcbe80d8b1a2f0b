public import Foundation

/// The `carillon` that was built with the tests.
public enum CarillonCommand {
  /// Its path.
  public static let path = path(of: "carillon")

  /// Returns the path of one of our programs. The build puts them into the folder of the test program.
  public static func path(of program: String) -> String {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appending(path: program).path
  }

  /// Runs the command to its end.
  ///
  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - environment: added to the environment of this process.
  ///   - folder: the working folder; `nil` for the current one.
  ///   - input: its standard input, of at most 64 kB.
  public static func run(
    _ arguments: [String], environment: [String: String] = [:], folder: URL? = nil, input: String = ""
  ) async throws -> ChildProcess.Output {
    try await ChildProcess.run(path, arguments, environment: environment, folder: folder, input: input)
  }
}
