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

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment: 1 to 64 of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "The file; - is standard input.", completion: .file()) var file: String
    @Flag(help: "Put these users in the place of those that are in it.")
    var replace = false

    func run() async throws {
      let name = try SegmentName.read(name)
      try await UserListImport(file, into: name, replaces: replace, global).run()
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
