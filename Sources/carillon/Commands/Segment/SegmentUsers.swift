import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment add`.
  struct Add: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds users to a segment, which comes into being with the first.",
      discussion: """
        Example:
          carillon segment add optedout ada ben
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment: 1 to 64 of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "Ids of users.") var users: [String]

    func run() async throws {
      let (name, users) = (try SegmentName.read(name), try UserArgument.read(users))
      let store = try await global.openStore(creating: true, changing: true)
      try await store.audiences.checkNotDefined(name)
      let known = try await store.audiences.add(users, to: name)
      let unknown = users.count - known
      try SegmentUsers.report(
        name, users.count,
        "added \(users.count.grouped) to \(name)" + (unknown > 0 ? ", \(unknown) without a device" : ""),
        json: global.json)
    }
  }

  /// `carillon segment remove-users`.
  struct RemoveUsers: CarillonCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove-users",
      abstract: "Removes users from a segment, which stays. Exits 1 when none of them was in it.",
      discussion: """
        Example:
          carillon segment remove-users optedout ada
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment.") var name: String
    @Argument(help: "Ids of users.") var users: [String]

    func run() async throws {
      let (name, users) = (Identifier.trimmed(name), try UserArgument.read(users))
      let store = try await global.openStore(changing: true)
      try await store.audiences.checkNotDefined(name)
      let names = try await store.audiences.segmentNames()
      guard names.contains(name) else {
        throw CommandError(
          .notFound, "there is no segment \(Excerpt.quoted(name))", hint: Nearest.hint(name, among: names))
      }
      let removed = try await store.audiences.remove(users, from: name)
      try SegmentUsers.report(name, removed, "removed \(removed.grouped) from \(name)", json: global.json)
      if removed == 0 { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }
  }
}

/// What the commands for single users of a segment share.
enum SegmentUsers {
  static func report(_ name: String, _ users: Int, _ text: String, json isJSON: Bool) throws {
    guard isJSON else { return try StandardOutput.printLine(text) }
    var json = JSONWriter()
    json.beginObject()
    json.member("segment", name)
    json.member("users", users)
    json.endObject()
    try StandardOutput.printLine(json.text)
  }
}
