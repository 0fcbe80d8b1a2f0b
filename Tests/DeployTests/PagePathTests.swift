import Foundation
import TestKit
import Testing

/// Paths in pages: links to other files, and source files with their module and folder.
struct PagePathTests {
  /// Markdown pages of the repository, as paths below its root.
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

  @Test(arguments: pages) func everyRelativeLinkLeadsToAFileAndAHeading(page: String) throws {
    let folder = (page as NSString).deletingLastPathComponent
    for link in try text(of: page).matches(of: #/\]\(([^)#:\s]*)(?:#([^)\s]*))?\)/#) {
      let joined = (folder as NSString).appendingPathComponent(String(link.1))
      let target = link.1.isEmpty ? page : (joined as NSString).standardizingPath
      expect(exists(target), "\(page) links to \(link.1)")
      guard let anchor = link.2, target.hasSuffix(".md"), exists(target) else { continue }
      expect(try anchors(of: target).contains(String(anchor)), "\(page) links to \(target)#\(anchor)")
    }
  }

  /// Returns the anchors of a page's headings, as GitHub generates them.
  private func anchors(of page: String) throws -> Set<String> {
    var isCode = false
    var anchors: Set<String> = []
    for line in try text(of: page).split(separator: "\n") {
      if line.hasPrefix("```") { isCode.toggle() }
      guard !isCode, line.hasPrefix("#") else { continue }
      let title = line.drop { $0 == "#" }.dropFirst().lowercased()
      anchors.insert(
        String(title.filter { $0.isLetter || $0.isNumber || " -_".contains($0) }).replacing(" ", with: "-"))
    }
    return anchors
  }

  /// A path starts with the name of a module, followed by a folder or a file, with or without its extension.
  @Test(arguments: pages) func everyNamedSourceFileExists(page: String) throws {
    let sources = Deploy.package.appending(path: "Sources").path
    let modules = Set(try FileManager.default.contentsOfDirectory(atPath: sources))
    for path in try text(of: page).matches(of: #/`(?:Sources/)?([A-Za-z0-9]+)/([A-Za-z0-9+/._]+)`/#)
    where modules.contains(String(path.1)) {
      let below = "Sources/\(path.1)/\(path.2)"
      expect(exists(below) || exists("\(below).swift"), "\(page) names \(path.1)/\(path.2)")
    }
  }

  /// `make docs` renders the pages in the order of this file.
  @Test func everyPageIsInTheNavigationOfTheSite() throws {
    let navigation = try String(contentsOf: Deploy.package.appending(path: "deploy/docs/mkdocs.yml"), encoding: .utf8)
    for page in Self.pages { expect(navigation.contains(" \(page)\n"), "\(page)") }
  }

  @Test func pagesWereFound() {
    expect(Self.pages.count > 15 && Self.pages.contains("Sources/README.md"))
  }
}
