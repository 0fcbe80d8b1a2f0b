import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// `carillon suppression import`.
  struct Import: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Puts users on a list, from a file of user ids, one a line.",
      discussion: """
        The file is as with `carillon segment import`: CSV of one column, a bad line is reported and skipped, and the exit \
        status is 65 then. --replace replaces the whole list by the file. The list stays in force until the last line is \
        read. A bad line refuses the replacement. An empty file, and a file with fewer than half of the users, need \
        --allow-shrink. An opt-out or opt-in after the file was written stays in force: --as-of says when that was.

        Examples:
          carillon suppression import news optedout.csv --replace
          carillon suppression import news no-offers.txt --category offers
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "The file; - is standard input.", completion: .file()) var file: String
    @OptionGroup var replacing: ReplaceOptions

    func run() async throws {
      try await UserListImport(file, into: try options.list(global).segment, replacing, global).run()
    }
  }
}
