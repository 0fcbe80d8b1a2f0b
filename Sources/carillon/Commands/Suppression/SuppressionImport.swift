import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// `carillon suppression import`.
  struct Import: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add users to a suppression list from a file with one user id per line.",
      discussion: """
        The file has the format of `carillon segment import`: CSV with one column. A bad line is reported and skipped, and the \
        exit status is 65. --replace replaces the whole list with the file. The old list stays in force until the last line \
        is read. A bad line prevents the replacement. An empty file, and a file with fewer than half of the users, need \
        --allow-shrink. An opt-out or opt-in after the file was written stays in force: --as-of is the time at which the file \
        was written.

        Examples:
          carillon suppression import news optedout.csv --replace
          carillon suppression import news no-offers.txt --category offers
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "A file of user ids; - is standard input.", completion: .file()) var file: String
    @OptionGroup var replacing: ReplaceOptions

    func run() async throws {
      try await UserListImport(file, into: try options.list(global).segment, replacing, global).run()
    }
  }
}
