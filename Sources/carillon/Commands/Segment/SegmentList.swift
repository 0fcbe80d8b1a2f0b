import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SegmentCommand {
  /// `carillon segment list`.
  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the segments and how many users each has, with or without devices.")

    @OptionGroup var global: GlobalOptions

    func run() async throws {
      let store = try await global.openStore()
      var segments: [(name: String, users: Int)] = []
      for name in try await store.segmentNames() {
        segments.append((name, try await store.size(ofSegment: name)))
      }
      guard global.json else {
        let rows = segments.map { [$0.name, $0.users.grouped] }
        return try StandardOutput.printLine(TextTable([["segment", "users"]] + rows).text)
      }
      var json = JSONWriter()
      json.beginArray()
      for segment in segments {
        json.beginObject()
        json.member("segment", segment.name)
        json.member("users", segment.users)
        json.endObject()
      }
      json.endArray()
      try StandardOutput.printLine(json.text)
    }
  }
}
