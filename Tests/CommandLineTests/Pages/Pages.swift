import Foundation

/// The Markdown pages of the repository.
enum Pages {
  /// The repository.
  static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized

  /// Paths below ``package``, sorted.
  static let all: [String] = {
    let folders = ["Config", "Sources", "Tests", "deploy"]
    let found = folders.flatMap { folder in
      (FileManager.default.subpaths(atPath: package.appending(path: folder).path) ?? [])
        .filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
    }
    return ["README.md"] + found.sorted()
  }()

  /// The text of a page.
  static func text(of page: String) throws -> String {
    try String(contentsOf: package.appending(path: page), encoding: .utf8)
  }
}
