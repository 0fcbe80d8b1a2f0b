/// The user attributes on which a campaign depends, to warn about attributes that are missing for all users.
extension Campaign {
  /// User attributes that the job names, each with its path in the job. The list omits the attribute of a placeholder
  /// if the job itself contains values for this placeholder.
  public var attributesAskedFor: [(path: String, name: String)] {
    var asked: [(path: String, name: String)] = []
    if let predicate = recipients.predicate { asked += predicate.attributes.map { (path: "audience.where", name: $0) } }
    if let attribute = delivery.timing.attribute { asked.append((path: "localTime.attribute", name: attribute)) }
    guard let content = message.content, !message.hasValuesBeside else { return asked }
    var brought: Set<String> = []
    for values in message.recipientValues.values {
      guard let root = try? JSONValue(parsing: values, maximumDepth: 1), case .object(let members) = root.kind else {
        continue
      }
      brought.formUnion(members.map(\.name))
    }
    var seen = brought
    for value in content.values where seen.insert(value.name).inserted {
      asked.append((path: message.place, name: value.name))
    }
    return asked
  }
}

extension PushRule {
  /// Warning for an attribute in a job that no user has. A placeholder would be empty for all users, and a condition
  /// would be false for all users.
  public static let unknownAttribute = PushRule(
    id: "unknown-attribute", severity: .warning,
    summary: "At least one user has the attribute of each placeholder, condition and send time.",
    source: "Carillon: deploy/guide/personalised-messages.md, “Placeholders”")
}
