/// A job of the least that is needed, with members added, replaced or (empty) taken out.
public func job(_ changes: [String: String] = [:]) -> String {
  var members = [
    "id": "\"c1\"", "app": "\"news\"", "audience": "{\"segment\":\"*\"}", "payload": "{\"aps\":{\"alert\":\"hi\"}}",
  ]
  members.merge(changes) { $1 }
  return "{"
    + members.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { "\"\($0)\":\($1)" }
    .joined(separator: ",") + "}"
}
