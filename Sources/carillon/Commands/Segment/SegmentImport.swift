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
        The file is CSV of one column. White space and quotes around an id do not count, and a first line `user` is a \
        header. A line of HTML or JSON, and a line with semicolons or tabs, is a bad line. The segment comes into being with its first import, also of an empty file. Users without a device may \
        be in it; how many there are is said. A bad line is reported and skipped; the good ones are in, and the exit status \
        is 65.

        --replace replaces the whole segment by the file. The segment stays in force until the last line is read. A bad line \
        refuses the replacement, as its user would leave the segment. An empty file, and a file with fewer than half of the \
        users, need --allow-shrink. What was said of a user after the file was written stays in force: --as-of says when \
        that was.

        Examples:
          carillon segment import vip vip.txt
          carillon segment import optedout optedout.csv --replace
          psql -Atc 'select id from users where churned' | carillon segment import churned -
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment: 1 to 64 of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "The file; - is standard input.", completion: .file()) var file: String
    @OptionGroup var options: ReplaceOptions

    func run() async throws {
      let name = try SegmentName.read(name)
      try await UserListImport(file, into: name, options, global).run()
    }
  }
}

/// The name of a segment in a command or a request.
enum SegmentName {
  /// Returns the name without white space at its edges.
  static func read(_ text: String) throws(CommandError) -> String {
    guard let name = PlainName.read(text) else {
      throw CommandError(.input, "\(Excerpt.quoted(text)) can't name a segment", hint: "it must be \(PlainName.form)")
    }
    return name
  }
}
