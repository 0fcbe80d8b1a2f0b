extension CampaignJob {
  /// What a job says, in the one way in which it can be written: two jobs are the same when these are equal.
  ///
  /// Who submits it is not what it says. A member that is `null` counts as not given, in the job, in its audience and in whom that excludes. In the payload it is what the producer
  /// wants to be sent, as are the letters of every string.
  ///
  /// - Throws: when the job is not valid JSON.
  public static func canonical(_ job: [UInt8]) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    var json = JSONWriter()
    guard case .object(let members) = root.kind else {
      root.writeCanonical(to: &json)
      return json.take()
    }
    JSONValue.writeCanonical(
      members.filter { $0.name != "submittedBy" }.given(alsoIn: "audience", "exclude"), to: &json)
    return json.take()
  }
}

extension [JSONValue.Member] {
  /// Those that are not `null`; and of the object that stands at a path of names, in each of its levels.
  fileprivate func given(alsoIn path: String...) -> [JSONValue.Member] { given(alsoIn: path[...]) }

  private func given(alsoIn path: ArraySlice<String>) -> [JSONValue.Member] {
    compactMap { member in
      if case .null = member.value.kind { return nil }
      guard member.name == path.first, case .object(let members) = member.value.kind else { return member }
      return JSONValue.Member(
        name: member.name, nameRange: member.nameRange,
        value: JSONValue(kind: .object(members.given(alsoIn: path.dropFirst())), range: member.value.range))
    }
  }
}
