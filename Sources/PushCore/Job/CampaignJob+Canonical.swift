/// The canonical text of a job, from which digests are calculated.
extension CampaignJob {
  /// Returns the canonical text of a job. Manifests contain the digest of this text. The store also compares the digest
  /// with digests of jobs that an earlier version of Carillon stored.
  ///
  /// The submitter is not part of the text. A member with the value `null` counts as missing in the job, its audience
  /// and exclusions, its message, its times, its variants and its stages. In the payload of a service, `null` is
  /// content for the app, so it is kept. The case of strings is always kept.
  ///
  /// - Throws: an error if the job is not valid JSON.
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

  /// Returns the members of a job without `null` values and without the submitter.
  static func given(_ members: [JSONValue.Member]) -> [JSONValue.Member] {
    members.filter { $0.name != "submittedBy" }
      .given(alsoIn: [
        ["audience", "exclude"], ["message"], ["localTime"], ["quietHours"], ["repeat"], ["variants"],
        ["stages", "winner"],
      ])
  }
}

extension [JSONValue.Member] {
  /// Returns the members that are not `null`. `paths` names members whose value is an object or an array of objects;
  /// the `null` members of these objects are removed too.
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
  /// Returns an object, or an array of objects, without the members that are `null`.
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
