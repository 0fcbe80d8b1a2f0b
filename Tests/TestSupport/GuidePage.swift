import Foundation

/// A page that users read: `README.md` or a page of `deploy/guide`.
public struct GuidePage: Sendable, CustomStringConvertible {
  /// A fenced code block.
  public struct Block: Sendable {
    /// The text after the three backticks: a language and the kind of example.
    public let kind: String
    /// The lines between the fences.
    public let text: String
    /// The line of the opening fence, from 1.
    public let line: Int
  }

  /// Path below the root of the repository.
  public let path: String
  private let lines: [String]

  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

  /// Every page, `README.md` first.
  public static let all: [GuidePage] = {
    let folder = root.appending(path: "deploy/guide").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let pages = names.filter { $0.hasSuffix(".md") }.sorted().map { "deploy/guide/\($0)" }
    return (["README.md"] + pages).compactMap { try? GuidePage($0) }
  }()

  /// - Parameter path: below the root of the repository.
  /// - Throws: when there is no such page.
  public init(_ path: String) throws {
    let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  public var description: String { path }

  /// The number of lines.
  public var lineCount: Int { lines.last == "" ? lines.count - 1 : lines.count }

  /// The code blocks in their order.
  public var blocks: [Block] { blocks(in: lines.indices) }

  /// The code blocks of one section.
  ///
  /// - Parameter heading: of the second level, without `## `.
  /// - Throws: when the page has no such section.
  public func blocks(ofSection heading: String) throws -> [Block] {
    guard let start = lines.firstIndex(of: "## \(heading)") else {
      throw TestSupportError("\(path) has no section \(heading)")
    }
    let end = lines[(start + 1)...].firstIndex { $0.hasPrefix("## ") } ?? lines.endIndex
    return blocks(in: start..<end)
  }

  private func blocks(in range: Range<Int>) -> [Block] {
    var blocks: [Block] = []
    var open: (kind: String, line: Int)?
    var text: [String] = []
    for index in range where lines[index].hasPrefix("```") || open != nil {
      if let block = open {
        guard lines[index] == "```" else {
          text.append(lines[index])
          continue
        }
        blocks.append(Block(kind: block.kind, text: text.joined(separator: "\n"), line: block.line))
        open = nil
      } else {
        open = (String(lines[index].dropFirst(3)), index + 1)
        text = []
      }
    }
    return blocks
  }

  /// The code spans outside of code blocks, with their lines from 1.
  public var spans: [(text: String, line: Int)] {
    var isCode = false
    var spans: [(text: String, line: Int)] = []
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("```") { isCode.toggle() }
      guard !isCode else { continue }
      spans += line.matches(of: /`([^`]+)`/).map { (text: String($0.1).replacing("\\|", with: "|"), line: index + 1) }
    }
    return spans
  }

  /// The cells of all table rows whose first cell is in backticks, without the backticks of that cell.
  public var rows: [[String]] {
    lines.filter { $0.hasPrefix("| `") }.map { line in
      let cells = line.replacing("\\|", with: "\u{0}").split(separator: "|", omittingEmptySubsequences: false)
      var row = cells.dropFirst().dropLast().map {
        $0.trimmingCharacters(in: .whitespaces).replacing("\u{0}", with: "|")
      }
      row[0] = row[0].trimmingCharacters(in: ["`"])
      return row
    }
  }
}
