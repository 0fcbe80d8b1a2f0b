public import PushCore

/// Recognition of jobs and templates among JSON files, by their members. `lint` uses these functions.
extension PushService {
  /// Fields with the content of a job or template.
  private var content: [String] { ["message", name] }

  /// Returns whether the JSON is a whole job. A payload can have members with any name, but is unlikely to have all
  /// members that are necessary in a job.
  public func isJob(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    let names = Set(members.map(\.name))
    if names.isSuperset(of: ["id", "app", "audience"]) { return true }
    // In earlier versions, `payload` was a field of the job itself. Such a file counts as a job, so that the job parser
    // reports the new place of the field.
    return !names.isDisjoint(with: content + ["template", "variants", "payload"])
      && !names.isDisjoint(with: ["app", "audience"])
  }

  /// Returns whether the JSON is a template for this service. A payload can have members with the names of a template's
  /// fields. But it is unlikely that all its members have such names, and that their values have the members of a
  /// template too.
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

  /// Returns whether a template contains a push type for this service.
  public func namesPushType(_ root: JSONValue) -> Bool {
    guard case .object(let members) = root.kind else { return false }
    return JobContent(of: members, for: self).own.value("pushType") != nil
  }
}
