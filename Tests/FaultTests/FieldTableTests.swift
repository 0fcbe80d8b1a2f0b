import Foundation
import TestKit
import Testing

/// The tables of `Tests/Pages/fields.md`, which name the tests of each field of a job.
struct FieldTableTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "..").standardized

  /// Returns the names of tests in the rows of a section of the page.
  private func names(below heading: String) throws -> [String] {
    let page = try String(contentsOf: Self.tests.appending(path: "Pages/fields.md"), encoding: .utf8)
    let parts = page.components(separatedBy: "\n## ")
    let part = try #require(parts.first { $0.hasPrefix(heading) })
    return part.split(separator: "\n").filter { $0.hasPrefix("|") }.flatMap { row in
      row.split(separator: "|").last?.matches(of: /`([A-Za-z\/]+Tests(?:\.[A-Za-z]+)?)`/).map { String($0.output.1) }
        ?? []
    }
  }

  @Test(arguments: [("Audience fields", 15), ("Message, timing", 35)])
  func everyNamedTestExists(heading: String, least: Int) throws {
    let names = try names(below: heading)
    expect(names.count >= least, "\(names.count)")
    var files: [String: [String]] = [:]
    let all = FileManager.default.enumerator(at: Self.tests, includingPropertiesForKeys: nil)
    while let file = all?.nextObject() as? URL {
      guard file.pathExtension == "swift" else { continue }
      files[file.deletingPathExtension().lastPathComponent, default: []].append(file.path)
    }
    for name in names {
      let parts = name.split(separator: "/").last?.split(separator: ".").map(String.init) ?? []
      let found = try #require(files[parts[0]], "\(name): no such file")
      guard parts.count > 1 else { continue }
      let texts = try found.map { try String(contentsOfFile: $0, encoding: .utf8) }
      expect(texts.contains { $0.contains("func \(parts[1])(") }, "\(name): no such test")
    }
  }
}
