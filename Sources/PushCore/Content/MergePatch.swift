/// JSON merge patch (RFC 7396). In a job, a patch describes how the payload changes in another language.
enum MergePatch {
  /// Returns the result of a patch. Members of objects are merged, `null` removes a member, and any other value
  /// replaces the target.
  ///
  /// - Parameter target: `nil` if the patch creates the value.
  static func apply(_ patch: JSONValue, to target: JSONValue?) -> JSONValue {
    guard case .object(let changes) = patch.kind else { return patch }
    var members: [JSONValue.Member?] = []
    if case .object(let known)? = target?.kind { members = known }
    var places: [String: Int] = [:]
    for (place, member) in members.enumerated() {
      if let member, places[member.name] == nil { places[member.name] = place }
    }
    for change in changes {
      let place = places[change.name]
      if case .null = change.value.kind {
        if let place {
          members[place] = nil
          places[change.name] = nil
        }
        continue
      }
      let value = apply(change.value, to: place.flatMap { members[$0]?.value })
      let member = JSONValue.Member(name: change.name, nameRange: change.nameRange, value: value)
      if let place {
        members[place] = member
      } else {
        places[change.name] = members.count
        members.append(member)
      }
    }
    return JSONValue(kind: .object(members.compactMap(\.self)), range: patch.range)
  }
}
