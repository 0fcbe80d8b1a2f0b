/// Returns a job with only the required members. `changes` adds, replaces or (if empty) removes members. `payload`,
/// `pushType` and `priority` are members of `apns`.
public func job(_ changes: [String: String] = [:]) -> String {
  var members = [
    "id": "\"c1\"", "app": "\"news\"", "audience": "{\"segment\":\"*\"}", "payload": "{\"aps\":{\"alert\":\"hi\"}}",
  ]
  members.merge(changes) { $1 }
  let own = members.filter { ["payload", "pushType", "priority"].contains($0.key) && !$0.value.isEmpty }
  members = members.filter { !["payload", "pushType", "priority"].contains($0.key) }
  if !own.isEmpty, changes["apns"] == nil { members["apns"] = object(own) }
  return object(members.filter { !$0.value.isEmpty })
}

private func object(_ members: [String: String]) -> String {
  "{"
    + members.sorted { $0.key < $1.key }.map { "\"\($0)\":\($1)" }
    .joined(separator: ",") + "}"
}
