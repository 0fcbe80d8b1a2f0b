import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

/// The report of the commands that add or remove single users of a segment.
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
