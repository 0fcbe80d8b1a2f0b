import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// Reads a file of user ids, one a line, into a list of users, and says how many lines were good.
struct UserListImport {
  /// Users that go to Redis together: some 16 for every partition of a usual store.
  private static let batch = 4096
  /// Bytes of a line: every character of the longest id a quote, quotes around it, and room for blanks.
  private static let longestLine = 2 * UserID.maximumLength + 64

  private let file: String
  private let segment: String
  private let replaces: Bool
  private let global: GlobalOptions

  /// - Parameters:
  ///   - file: its path; `-` is standard input.
  ///   - segment: what the list is kept in.
  ///   - replaces: whether the file takes the place of who is on the list.
  init(_ file: String, into segment: String, replaces: Bool, _ global: GlobalOptions) {
    self.file = file
    self.segment = segment
    self.replaces = replaces
    self.global = global
  }

  func run() async throws {
    let input = try InputFile(file)
    let store = try await global.openStore(creating: true, changing: true)
    if SuppressionList(segment: segment) == nil { try await store.checkNotDefined(segment) }
    var replacement = replaces ? try await store.replacement(of: segment) : nil
    var report = ImportReport(known: 0)
    do {
      try await read(input, into: store, &replacement, &report)
      if let replacement {
        if report.skipped == 0 {
          try await store.putInForce(replacement)
        } else {
          try await store.discard(replacement)
        }
      }
    } catch {
      // It would expire by itself.
      if let replacement { try? await store.discard(replacement) }
      throw error
    }
    let isReplaced = replacement == nil || report.skipped == 0
    if !isReplaced { report.imported = 0 }
    try StandardOutput.printLine(global.json ? report.json : report.text(of: input.path))
    if !isReplaced, !global.json {
      StandardError.write("\(input.path): nothing was replaced: mend the bad lines, and import again\n")
    }
    if report.skipped > 0 { throw ExitCode(CommandError.Code.input.exitStatus) }
  }

  private func read(
    _ input: InputFile, into store: CampaignStore, _ replacement: inout SegmentReplacement?,
    _ report: inout ImportReport
  ) async throws {
    var lines = LineReader(input, maximumLength: Self.longestLine)
    var bar = ProgressBar("importing", unit: "users", total: nil)
    defer { bar.finish() }
    var users: [String] = []
    while true {
      let page = try lines.read()
      for line in page {
        switch line.text.map({ SegmentLine($0, number: line.number) }) {
        case .user(let user):
          report.rows += 1
          users.append(user)
        case .empty, .header: break
        case .bad(let problem):
          bar.finish()
          report.skip(line: line.number, problem, of: input.path, json: global.json)
        case nil:
          bar.finish()
          report.skip(
            line: line.number, "longer than \(UserID.maximumLength) bytes, or not UTF-8", of: input.path,
            json: global.json)
        }
      }
      if users.count >= Self.batch || page.isEmpty {
        report.known = try await add(users, to: store, &replacement) + (report.known ?? 0)
        report.imported += users.count
        users.removeAll(keepingCapacity: true)
      }
      if page.isEmpty { return }
      bar.update(done: report.rows)
    }
  }

  private func add(
    _ users: [String], to store: CampaignStore, _ replacement: inout SegmentReplacement?
  ) async throws -> Int {
    guard var current = replacement else { return try await store.add(users, to: segment) }
    defer { replacement = current }
    return try await store.add(users, to: &current)
  }
}
