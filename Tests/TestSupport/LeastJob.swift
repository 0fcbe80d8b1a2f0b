/// Returns a job with only the required members. `changes` adds, replaces or (if empty) removes members.
public func job(_ changes: [String: String] = [:]) -> String {
  var members = [
    "id": "\"c1\"", "app": "\"news\"", "audience": "{\"segment\":\"*\"}", "payload": "{\"aps\":{\"alert\":\"hi\"}}",
  ]
  members.merge(changes) { $1 }
  return "{"
    + members.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { "\"\($0)\":\($1)" }
    .joined(separator: ",") + "}"
}
