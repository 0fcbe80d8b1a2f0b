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

  /// `carillon suppression add`.
  struct Add: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Puts users on a list.",
      discussion: """
        Example:
          carillon suppression add news ada ben --category offers
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "Ids of users.") var users: [String]

    func run() async throws {
      let list = try options.list(global)
      let users = try UserArgument.read(users)
      try await global.openStore(creating: true, changing: true).audiences.add(users, to: list.segment)
      try list.report(users.count, "\(users.count.grouped) get nothing of \(list.title)", json: global.json)
    }
  }

  /// `carillon suppression remove`.
  struct Remove: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Takes users off a list. Exits 1 when none of them was on it.",
      discussion: """
        Example:
          carillon suppression remove news ada
        """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SuppressionOptions
    @Argument(help: "Ids of users.") var users: [String]

    func run() async throws {
      let list = try options.list(global)
      let users = try UserArgument.read(users)
      let removed = try await global.openStore(changing: true).audiences.remove(users, from: list.segment)
      try list.report(removed, "took \(removed.grouped) off the list of \(list.title)", json: global.json)
      if removed == 0 { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }
  }
}

extension SuppressionList {
  /// Prints how many users a command was about.
  fileprivate func report(_ users: Int, _ text: String, json isJSON: Bool) throws {
    guard isJSON else { return try StandardOutput.printLine(text) }
    var json = JSONWriter()
    json.beginObject()
    write(users: users, to: &json)
    json.endObject()
    try StandardOutput.printLine(json.text)
  }

  /// The members of an object that says how many users are on it.
  func write(users: Int, to json: inout JSONWriter) {
    json.member("app", app)
    json.member("category", category)
    json.member("users", users)
  }
}
