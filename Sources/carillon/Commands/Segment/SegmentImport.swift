import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment import`.
  struct Import: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds users to a segment, from a file of user ids, one a line.",
      discussion: """
        The file is CSV of one column: blanks around an id don't count, quotes around it neither, and a first line `user` \
        is a header. The segment comes into being with its first import, also of an empty file. Users without a device may \
        be in it; how many there are is said. A bad line is reported and skipped; the good ones are in, and the exit status \
        is 65.

        --replace puts the file in the place of the whole segment, which stays in force until the last line has been read. \
        With a bad line nothing is replaced: whoever stands on it would fall out of the segment.

        Examples:
          carillon segment import vip vip.txt
          carillon segment import optedout optedout.csv --replace
          psql -Atc 'select id from users where churned' | carillon segment import churned -
        """)

    /// Users that go to Redis together: some 16 for every partition of a usual store.
    private static let batch = 4096
    /// Bytes of a line: every character of the longest id a quote, quotes around it, and room for blanks.
    private static let longestLine = 2 * UserID.maximumLength + 64

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment: 1 to 64 of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "The file; - is standard input.", completion: .file()) var file: String
    @Flag(help: "Put these users in the place of those that are in it.")
    var replace = false

    func run() async throws {
      try SegmentName.check(name)
      let input = try InputFile(file)
      let store = try await global.openStore(creating: true, changing: true)
      var replacement = replace ? SegmentReplacement(of: name) : nil
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
      guard var current = replacement else { return try await store.add(users, to: name) }
      defer { replacement = current }
      return try await store.add(users, to: &current)
    }
  }
}

/// The name of a segment, as somebody typed it.
enum SegmentName {
  static func check(_ name: String) throws(CommandError) {
    guard PlainName.isValid(name) else {
      throw CommandError(.input, "\(Excerpt.quoted(name)) can't name a segment", hint: "it must be \(PlainName.form)")
    }
  }
}
