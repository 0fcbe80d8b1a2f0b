import Foundation
import Testing

/// The paths that pages name: links to other files, and source files by module and folder.
struct PagePathTests {
  /// Markdown pages of the repository, by their path below its root.
  private static let pages: [String] = {
    let roots = ["Sources", "Tests", "Config", "deploy"]
    let found = roots.flatMap { root in
      (FileManager.default.subpaths(atPath: Deploy.package.appending(path: root).path) ?? [])
        .filter { $0.hasSuffix(".md") }.map { "\(root)/\($0)" }
    }
    return ["README.md"] + found.sorted()
  }()

  private func text(of page: String) throws -> String {
    try String(contentsOf: Deploy.package.appending(path: page), encoding: .utf8)
  }

  private func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: Deploy.package.appending(path: path).path)
  }

  @Test(arguments: pages) func everyRelativeLinkLeadsToAFile(page: String) throws {
    let folder = (page as NSString).deletingLastPathComponent
    for link in try text(of: page).matches(of: #/\]\(([^)#:\s]+)(?:#[^)\s]*)?\)/#) {
      let target = (folder as NSString).appendingPathComponent(String(link.1))
      #expect(exists((target as NSString).standardizingPath), "\(page) links to \(link.1)")
    }
  }

  /// A path begins with the name of a module and goes on with a folder or a file, with or without its ending.
  @Test(arguments: pages) func everyNamedSourceFileExists(page: String) throws {
    let sources = Deploy.package.appending(path: "Sources").path
    let modules = Set(try FileManager.default.contentsOfDirectory(atPath: sources))
    for path in try text(of: page).matches(of: #/`(?:Sources/)?([A-Za-z0-9]+)/([A-Za-z0-9+/._]+)`/#)
    where modules.contains(String(path.1)) {
      let below = "Sources/\(path.1)/\(path.2)"
      #expect(exists(below) || exists("\(below).swift"), "\(page) names \(path.1)/\(path.2)")
    }
  }

  @Test func pagesWereFound() {
    #expect(Self.pages.count > 15 && Self.pages.contains("Sources/README.md"))
  }
}
