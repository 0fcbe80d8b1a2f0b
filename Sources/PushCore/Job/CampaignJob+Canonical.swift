extension CampaignJob {
  /// What a job says, in the one way in which it can be written. Versions that did not know ``meaning(of:_:)`` took jobs for
  /// the same when these were equal.
  ///
  /// Who submits it is not what it says. A member that is `null` counts as not given: in the job, in its audience and in
  /// whom that excludes, in what says when it is sent, in its variants
  /// and in its stages. In the payload it is what the producer wants to be sent, as are
  /// the letters of every string.
  ///
  /// - Throws: when the job is not valid JSON.
  public static func canonical(_ job: [UInt8]) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    var json = JSONWriter()
    guard case .object(let members) = root.kind else {
      root.writeCanonical(to: &json)
      return json.take()
    }
    JSONValue.writeCanonical(given(members), to: &json)
    return json.take()
  }

  /// The members of a job that are given, without who submits it.
  static func given(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
    members.filter { $0.name != "submittedBy" }
      .given(alsoIn: [
        ["audience", "exclude"], ["localTime"], ["quietHours"], ["repeat"], ["variants"], ["stages", "winner"],
      ])
  }
}

extension [JSONValue.Member] {
  /// Those that are not `null`; and of the objects that stand at these paths of names, or in arrays there, in each of their
  /// levels.
  fileprivate func given(alsoIn paths: [ArraySlice<String>]) -> [JSONValue.Member] {
    compactMap { member in
      if case .null = member.value.kind { return nil }
      let within = paths.filter { $0.first == member.name }.map { $0.dropFirst() }
      guard !within.isEmpty else { return member }
      return JSONValue.Member(
        name: member.name, nameRange: member.nameRange, value: member.value.given(alsoIn: within))
    }
  }
}

extension JSONValue {
  /// Without the members that are `null`, of an object or of those in an array.
  fileprivate func given(alsoIn paths: [ArraySlice<String>]) -> JSONValue {
    switch kind {
    case .object(let members): JSONValue(kind: .object(members.given(alsoIn: paths)), range: range)
    case .array(let elements):
      JSONValue(
        kind: .array(
          elements.map { element in
            if case .object = element.kind { element.given(alsoIn: paths) } else { element }
          }), range: range)
    default: self
    }
  }
}
