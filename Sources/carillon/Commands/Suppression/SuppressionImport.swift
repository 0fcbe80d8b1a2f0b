import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// The command `carillon suppression import`.
  struct Import: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "import", abstract: "Add users to a suppression list from a file with one user id per line.",
      discussion: """
        The file has the format of `carillon segment import`: CSV with one column. The command reports and skips a bad \
        line and exits with 65. With --replace, the list gets exactly the users of the file. Carillon uses the old \
        list until the last line is read. A bad line prevents the replacement. If the file is empty or has fewer than \
        half of the list's users, --allow-shrink is needed. --as-of is the time at which the file was written. \
        Opt-outs and opt-ins after that time are not overwritten.

        Examples:
          carillon suppression import news optedout.csv --replace
          carillon suppression import news no-offers.txt --category offers
        """)

    static let effect = Effect.changes([.suppressionImport, .suppressionReplace])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "A file of user ids; - is standard input.", completion: .file()) var file: String
    @OptionGroup var replacing: ReplaceOptions

    func run() async throws {
      try await UserListImport(file, into: try options.list(global).segment, replacing, global).run()
    }
  }
}
