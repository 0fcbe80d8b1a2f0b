import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment import`.
  struct Import: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "import", abstract: "Add users to a segment from a file with one user id per line.",
      discussion: """
        The file is CSV with one column. White space and quotes around an id are ignored, and a first line `user` is a \
        header. Lines of HTML or JSON and lines with semicolons or tabs are bad lines. The first import creates the \
        segment, even from an empty file. Users without a device are allowed; the command prints their number. The \
        command reports and skips a bad line, imports the good lines, and exits with 65.

        With --replace, the segment gets exactly the users of the file. Carillon uses the old segment until the last \
        line is read. A bad line prevents the replacement, because its user would be missing. If the file is empty or \
        has fewer than half of the segment's users, --allow-shrink is needed. --as-of is the time at which the file \
        was written. Changes of single users after that time are not overwritten.

        Examples:
          carillon segment import vip vip.txt
          carillon segment import optedout optedout.csv --replace
          psql -Atc 'select id from users where churned' | carillon segment import churned -
        """)

    static let effect = Effect.changes([.segmentImport, .segmentReplace])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment's name: 1 to 64 characters of A-Z a-z 0-9 . _ -") var name: String
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
  /// Returns the name without white space at both ends.
  static func read(_ text: String) throws(CommandError) -> String {
    guard let name = PlainName.read(text) else {
      throw CommandError(
        .input, "\(Excerpt.quoted(text)) is not a valid segment name", hint: "it must be \(PlainName.form)")
    }
    return name
  }
}
