public import PushCore

/// Kind of a JSON file for `lint`, by its members.
extension PushService {
  /// Fields with the content of a job or template.
  private var content: [String] { ["message", name] }

  /// Returns whether the JSON is a whole job. A payload can have members with any name, but it is unlikely that it has
  /// all of these.
  public func isJob(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    let names = Set(members.map(\.name))
    if names.isSuperset(of: ["id", "app", "audience"]) { return true }
    // In earlier versions, `payload` was a field of the job itself. Such a file counts as a job, so that the reader of
    // jobs reports the new place.
    return !names.isDisjoint(with: content + ["template", "variants", "payload"])
      && !names.isDisjoint(with: ["app", "audience"])
  }

  /// Returns whether the JSON is a template for this service. A payload can have its own members with these names. But
  /// a payload is unlikely to have only such members, with values that have the same members as in a template.
  ///
  /// - Parameter services: names of all services; a template may have an object for each.
  public func isTemplate(_ root: JSONValue, services: [String] = []) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    let others = ["localized", "trim", "uniqueKey", "campaignKey"] + services
    guard members.allSatisfy({ (content + others).contains($0.name) }) else { return false }
    func has(_ name: String, only known: [String]) -> Bool {
      guard case .object(let inner)? = members.value(name)?.kind else { return false }
      return inner.allSatisfy { known.contains($0.name) }
    }
    return has("message", only: CommonMessage.fields) || has(name, only: jobFields.map(\.name))
  }

  /// Returns whether a template contains its push type for this service.
  public func namesPushType(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return JobContent(of: members, for: self).own.value("pushType") != nil
  }
}
