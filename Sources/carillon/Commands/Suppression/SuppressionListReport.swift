import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionList {
  /// Prints how many users a command was about.
  func report(_ users: Int, _ text: String, json isJSON: Bool) throws {
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
