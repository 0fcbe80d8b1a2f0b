public import Foundation

/// The `carillon` that was built with the tests.
public enum CarillonCommand {
  /// Its path.
  public static let path = path(of: "carillon")

  /// The path of one of our programs: the build puts them beside the one that runs the tests.
  public static func path(of program: String) -> String {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appending(path: program).path
  }

  /// Runs it to its end.
  ///
  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - environment: added to this process' own.
  ///   - folder: where it runs; `nil` for here.
  ///   - input: its standard input, of at most 64 kB.
  public static func run(
    _ arguments: [String], environment: [String: String] = [:], folder: URL? = nil, input: String = ""
  ) async throws -> ChildProcess.Output {
    try await ChildProcess.run(path, arguments, environment: environment, folder: folder, input: input)
  }
}
