/// Parser of the `variants` of a job, with their rules.
struct JobVariants {
  /// Variant with its content, as in the job.
  struct Member {
    var variant: CampaignVariants.Variant
    /// Content of the variant: `message`, the objects of services, `localized`, `template`.
    var fields: JobFields
  }

  private static let memberFields = ["name", "weight", "message", "localized", "template"]

  /// Returns the variants of a job, each checked separately; empty for a job without variants.
  ///
  /// - Parameter services: names of the services; a variant may have an object for each. `nil` allows all names.
  static func members(of job: JobFields, services: [String]?) throws(JobError) -> [Member] {
    guard let value = job.value("variants") else { return [] }
    guard case .array(let elements) = value.kind, 2...CampaignVariants.maximum ~= elements.count else {
      throw job.error(
        "variants", "must be an array of 2 to \(CampaignVariants.maximum) variants",
        hint: #"a variant looks like: {"name": "a", "weight": 1, "message": {…}}"#)
    }
    var members: [Member] = []
    for (index, element) in elements.enumerated() {
      let path = job.path("variants[\(index)]")
      var known = memberFields + (services ?? [])
      if services == nil, case .object(let members) = element.kind { known += members.map(\.name) }
      let fields = try JobFields(element, path: path, known: known, planned: [])
      let name = try fields.requiredString("name")
      guard PlainName.isValid(name) else {
        throw fields.error(
          "name", "\(Excerpt.quoted(name)) is not a valid variant name", hint: "it must be \(PlainName.form)")
      }
      guard !members.contains(where: { $0.variant.name == name }) else {
        throw fields.error("name", "\(Excerpt.quoted(name)) is used twice", hint: "use a unique name for each variant")
      }
      members.append(Member(variant: .init(name: name, weight: try weight(fields)), fields: fields))
    }
    return members
  }

  private static let maximumWeight = 1_000_000.0

  private static func weight(_ fields: JobFields) throws(JobError) -> Double {
    guard let value = fields.value("weight") else { return 1 }
    guard case .number(let text) = value.kind, let weight = Double(text), weight > 0, weight <= maximumWeight else {
      throw fields.error(
        "weight", "must be a number above 0, and at most 1,000,000", hint: "remove a variant that no user should get")
    }
    return weight
  }

  /// Returns the variants of a campaign; `nil` for a campaign without variants.
  ///
  /// - Parameter id: the id of the campaign.
  static func read(
    _ job: JobFields, _ members: [Member], campaign id: String, to audience: Audience
  ) throws(JobError) -> CampaignVariants? {
    guard !members.isEmpty else { return nil }
    switch audience {
    case .segment, .users, .campaign: break
    case .tokens, .activity, .channel:
      throw job.error("variants", "need an audience of users", hint: "give a segment or users instead")
    }
    return CampaignVariants(members.map(\.variant), campaign: id)
  }
}

extension CampaignJob {
  /// Returns the variants in the job of a campaign; `nil` for none, and for a text that is not a job.
  ///
  /// - Parameter id: the id of the campaign.
  public static func variants(of job: [UInt8], campaign id: String) -> CampaignVariants? {
    guard let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting), case .object(let members) = root.kind,
      members.value("variants") != nil
    else { return nil }
    let fields = JobFields(members)
    guard let variants = try? JobVariants.members(of: fields, services: nil) else { return nil }
    return try? JobVariants.read(fields, variants, campaign: id, to: .users([]))
  }
}
