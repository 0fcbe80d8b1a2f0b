import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension SuppressionList {
  /// Prints the result of a command: a text, or with `--json` an object with the list and the number of changed users.
  func report(_ users: Int, _ text: String, json isJSON: Bool) throws {
    guard isJSON else { return try StandardOutput.printLine(text) }
    var json = JSONWriter()
    json.beginObject()
    write(users: users, to: &json)
    json.endObject()
    try StandardOutput.printLine(json.text)
  }

  /// Writes the members of the JSON object: the list and its number of users.
  func write(users: Int, to json: inout JSONWriter) {
    json.member("app", app)
    json.member("category", category)
    json.member("users", users)
  }
}
