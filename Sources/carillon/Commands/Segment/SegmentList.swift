import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// The command `carillon segment list`.
  struct List: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List segments with the number of users (including users without devices) or with the definition.")

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions

    private enum Content {
      case users(Int)
      case definition(SegmentDefinition)
    }

    func run() async throws {
      let store = try await global.openStore()
      var segments: [String: Content] = [:]
      for name in try await store.audiences.segmentNames() {
        segments[name] = .users(try await store.audiences.size(ofSegment: name))
      }
      // If a name has both users and a definition, the definition applies.
      for (name, definition) in try await store.audiences.definitions().all { segments[name] = .definition(definition) }
      let sorted = segments.sorted { $0.key < $1.key }
      guard global.json else {
        let rows = sorted.map { name, content in
          switch content {
          case .users(let count): [name, count.grouped]
          case .definition(let definition): [name, "–", Excerpt.harmless(definition.description)]
          }
        }
        let heads = ["segment", "users"] + (rows.contains { $0.count > 2 } ? ["definition"] : [])
        return try StandardOutput.printLine(TextTable([heads] + rows).text)
      }
      var json = JSONWriter()
      json.beginArray()
      for (name, content) in sorted {
        json.beginObject()
        json.member("segment", name)
        switch content {
        case .users(let count): json.member("users", count)
        case .definition(let definition):
          json.name("definition")
          definition.write(to: &json)
        }
        json.endObject()
      }
      json.endArray()
      try StandardOutput.printLine(json.text)
    }
  }
}
