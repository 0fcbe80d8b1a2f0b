import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionCommand {
  /// The command `carillon suppression list`.
  struct List: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the suppression lists with their numbers of users.")

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions

    func run() async throws {
      let store = try await global.openStore()
      var lists: [(list: SuppressionList, users: Int)] = []
      for list in try await store.audiences.suppressionLists() {
        lists.append((list, try await store.audiences.size(ofSegment: list.segment)))
      }
      guard global.json else {
        let rows = lists.map { [$0.list.app, $0.list.category ?? "", $0.users.grouped] }
        return try StandardOutput.printLine(TextTable([["app", "category", "users"]] + rows).text)
      }
      var json = JSONWriter()
      json.beginArray()
      for (list, users) in lists {
        json.beginObject()
        list.write(users: users, to: &json)
        json.endObject()
      }
      json.endArray()
      try StandardOutput.printLine(json.text)
    }
  }
}
