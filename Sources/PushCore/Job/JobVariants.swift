/// The rules for `variants` and `winner` of a job.
struct JobVariants {
  /// A variant as the job has it.
  struct Member {
    var variant: CampaignVariants.Variant
    /// What it says: `payload`, `localized`, `template`.
    var fields: JobFields
  }

  static let fields = ["variants", "winner"]
  private static let memberFields = ["name", "weight", "payload", "localized", "template"]

  /// The variants of a job, each by itself; empty for none.
  static func members(of job: JobFields) throws(JobError) -> [Member] {
    guard let value = job.value("variants") else { return [] }
    guard case .array(let elements) = value.kind, 2...CampaignVariants.maximum ~= elements.count else {
      throw job.error(
        "variants", "must be an array of 2 to \(CampaignVariants.maximum) variants",
        hint: #"a variant looks like: {"name": "a", "weight": 1, "payload": {…}}"#)
    }
    var members: [Member] = []
    for (index, element) in elements.enumerated() {
      let fields = try JobFields(element, path: job.path("variants[\(index)]"), known: memberFields, planned: [])
      let name = try fields.requiredString("name")
      guard PlainName.isValid(name) else {
        throw fields.error("name", "\(Excerpt.quoted(name)) can't name a variant", hint: "it must be \(PlainName.form)")
      }
      guard !members.contains(where: { $0.variant.name == name }) else {
        throw fields.error("name", "\(Excerpt.quoted(name)) stands there twice", hint: "reports go by these names")
      }
      members.append(Member(variant: .init(name: name, weight: try weight(fields)), fields: fields))
    }
    return members
  }

  private static let mostWeight = 1_000_000.0

  private static func weight(_ fields: JobFields) throws(JobError) -> Double {
    guard let value = fields.value("weight") else { return 1 }
    guard case .number(let text) = value.kind, let weight = Double(text), weight > 0, weight <= mostWeight else {
      throw fields.error(
        "weight", "must be a number above 0, and at most 1,000,000", hint: "leave out a variant that nobody is to get")
    }
    return weight
  }

  /// The variants of a campaign, and how the best is found.
  ///
  /// - Parameter id: the campaign's.
  static func read(
    _ job: JobFields, _ members: [Member], campaign id: String, to audience: Audience
  ) throws(JobError) -> CampaignVariants? {
    guard !members.isEmpty else {
      guard job.value("winner") == nil else {
        throw job.error("winner", "says which of the variants the others get, and there are none", hint: "leave it out")
      }
      return nil
    }
    switch audience {
    case .segment, .users, .campaign: break
    case .tokens, .activity, .channel:
      throw job.error("variants", "need users, of whom each gets one", hint: "give a segment or users instead")
    }
    let variants = members.map(\.variant)
    return CampaignVariants(variants, winner: try winner(job, variants), campaign: id)
  }

  private static func winner(
    _ job: JobFields, _ variants: [CampaignVariants.Variant]
  ) throws(JobError) -> CampaignVariants.Winner? {
    guard let value = job.value("winner") else { return nil }
    for name in ["test", "canary"] where job.value(name) != nil {
      throw job.error(
        "winner", "does not go with \(name): the rest would wait for two things at once", hint: "leave out one of them")
    }
    guard job.value("also") == nil else {
      throw job.error(
        "winner", "does not go with also: who waits would be told to refresh before there is anything to see",
        hint: "leave out one of them")
    }
    let fields = try JobFields(
      value, path: job.path("winner"), known: ["by", "after", "share", "minimum", "otherwise"], planned: [])
    guard let text = try fields.string("after"), let wait = DurationText.seconds(text), FirstWave.waits ~= wait else {
      throw fields.error(
        "after", "must be how long the rest waits, 1s to 7d, from the beginning of the campaign",
        hint: "it must be \(DurationText.form)")
    }
    guard case .number(let number)? = fields.value("share")?.kind, let share = Double(number), share > 0, share < 1
    else {
      throw fields.error(
        "share", "must be the share of the users who get the variants, above 0 and below 1",
        hint: "0.2 is a fifth of them; the others wait for the winner")
    }
    return CampaignVariants.Winner(
      measure: try fields.choice("by", default: .opened), wait: wait, share: share, minimum: try minimum(fields),
      otherwise: try otherwise(fields, variants))
  }

  private static func minimum(_ fields: JobFields) throws(JobError) -> Int {
    guard let value = fields.value("minimum") else { return CampaignVariants.Winner.standardMinimum }
    guard case .number(let text) = value.kind, let minimum = Int(text), 1...1_000_000_000 ~= minimum else {
      throw fields.error(
        "minimum", "must be a whole number above 0: what is counted of all variants together before it says anything")
    }
    return minimum
  }

  private static func otherwise(
    _ fields: JobFields, _ variants: [CampaignVariants.Variant]
  ) throws(JobError) -> Int? {
    guard let name = try fields.string("otherwise") else { return nil }
    guard let place = variants.firstIndex(where: { $0.name == name }) else {
      throw fields.error(
        "otherwise", "\(Excerpt.quoted(name)) is none of the variants",
        hint: Nearest.hint(name, among: variants.map(\.name)))
    }
    return place
  }
}

extension CampaignVariants {
  /// Those who get the variants, where others wait for the best; `nil` where nobody does.
  ///
  /// - Parameter id: the campaign's.
  func wave(of id: String) -> FirstWave? {
    winner.map { FirstWave(share: UserSample(share: $0.share, salt: Self.salt(ofTest: id)), wait: $0.wait) }
  }
}

extension CampaignJob {
  /// The variants of a job that was taken in; `nil` for none, and for what is no job.
  public static func variants(of job: [UInt8]) -> CampaignVariants? {
    guard let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting), case .object(let members) = root.kind,
      members.value("variants") != nil
    else { return nil }
    let fields = JobFields(members)
    guard let id = try? fields.string("id"), let variants = try? JobVariants.members(of: fields) else { return nil }
    return try? JobVariants.read(fields, variants, campaign: id, to: .users([]))
  }
}
