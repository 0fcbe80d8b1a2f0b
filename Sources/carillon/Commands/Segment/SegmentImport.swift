import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment import`.
  struct Import: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add users to a segment from a file with one user id per line.",
      discussion: """
        The file is CSV with one column. White space and quotes around an id are ignored, and a first line `user` is a header. \
        A line of HTML or JSON, and a line with semicolons or tabs, is a bad line. The first import creates the segment, even \
        from an empty file. Users without a device are allowed; the command prints their number. A bad line is reported and \
        skipped: the good lines are imported, and the exit status is 65.

        --replace replaces the whole segment with the file. The old segment stays in force until the last line is read. A bad \
        line prevents the replacement, because its user would leave the segment. An empty file, and a file with fewer than \
        half of the users, need --allow-shrink. Changes of single users after the file was written stay in force: --as-of is \
        the time at which the file was written.

        Examples:
          carillon segment import vip vip.txt
          carillon segment import optedout optedout.csv --replace
          psql -Atc 'select id from users where churned' | carillon segment import churned -
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment's name: 1 to 64 of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "A file of user ids; - is standard input.", completion: .file()) var file: String
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
      throw CommandError(
        .input, "\(Excerpt.quoted(text)) is not a valid segment name", hint: "it must be \(PlainName.form)")
    }
    return name
  }
}
