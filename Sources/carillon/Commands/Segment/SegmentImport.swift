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
        The segment comes into being with its first import, also of an empty file. Users without a device may be in it. \
        A bad line is reported and skipped; the good ones are in, and the exit status is 65.

        Examples:
          carillon segment import vip vip.txt
          carillon segment import optedout optedout.txt --replace
          psql -Atc 'select id from users where churned' | carillon segment import churned -
        """)

    /// Users that go to Redis together: some 16 for every partition of a usual store.
    private static let batch = 4096

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment: 1 to 64 of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "The file; - is standard input.", completion: .file()) var file: String
    @Flag(help: "Empty the segment first. A campaign that starts meanwhile sees it half full.")
    var replace = false

    func run() async throws {
      guard PlainName.isValid(name) else {
        throw CommandError(.input, "\(Excerpt.quoted(name)) can't name a segment", hint: "it must be \(PlainName.form)")
      }
      let input = try InputFile(file)
      let store = try await global.openStore(creating: true)
      if replace { _ = try await store.removeSegment(name) }
      var report = ImportReport()
      var lines = LineReader(input, maximumLength: UserID.maximumLength)
      var bar = ProgressBar("importing", unit: "users", total: nil)
      var users: [String] = []
      while true {
        let page = try lines.read()
        for line in page {
          if line.text == "" { continue }
          let problem = line.text.map(UserID.problem) ?? "longer than \(UserID.maximumLength) bytes, or not UTF-8"
          if let user = line.text, problem == nil {
            report.rows += 1
            users.append(user)
          } else {
            bar.finish()
            report.skip(line: line.number, problem ?? "", of: input.path, json: global.json)
          }
        }
        if users.count >= Self.batch || page.isEmpty {
          try await store.add(users, to: name)
          report.imported += users.count
          users.removeAll(keepingCapacity: true)
        }
        if page.isEmpty { break }
        bar.update(done: report.rows)
      }
      bar.finish()
      try StandardOutput.printLine(global.json ? report.json : report.text(of: input.path))
      if report.skipped > 0 { throw ExitCode(CommandError.Code.input.exitStatus) }
    }
  }
}
