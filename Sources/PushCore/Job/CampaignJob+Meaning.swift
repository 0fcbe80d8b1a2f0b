extension CampaignJob {
  /// Returns the meaning of a job in a canonical form: ``canonical(_:)`` without the fields that have their default
  /// values. Two jobs are the same if their meanings are equal.
  ///
  /// - Parameters:
  ///   - job: the text of a job, which may be malformed.
  ///   - service: returns the push service of an app. It has the defaults of `pushType`, `priority` and `expiration`.
  /// - Throws: an error if the job is not valid JSON.
  public static func meaning(
    of job: [UInt8], _ service: (String) -> any PushService
  ) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    guard case .object(let members) = root.kind else { return try canonical(job) }
    let fields = JobFields(members)
    var defaults = JobDefaults()
    if case .string(let app)? = fields.value("app")?.kind {
      defaults.readOptions(members, fields, destination(root), service(app))
    }
    var json = JSONWriter()
    JSONValue.writeCanonical(defaults.remove(from: given(members)), to: &json)
    return json.take()
  }
}

/// Fields of a job that can be omitted because they have their default values.
private struct JobDefaults {
  /// Fields of the job itself that have their default values.
  private var names: Set<String> = []

  /// Field of an object within the job, with a check for its default value.
  private struct Field: Sendable {
    let name: String
    let isDefault: @Sendable (JSONValue) -> Bool

    init(_ name: String, _ isDefault: @escaping @Sendable (JSONValue) -> Bool) {
      (self.name, self.isDefault) = (name, isDefault)
    }
  }

  /// Fields by the path of their object.
  private static let nested: [String: [Field]] = [
    "": [
      Field("lane", isText(Lane.normal.rawValue)), Field("results", isText(ResultsMode.failures.rawValue)),
      Field("ambiguity", isText(Ambiguity.resend.rawValue)), Field("ttl", isDuration(Campaign.defaultTimeToLive)),
      Field("transactional", isFalse), Field("vars", isFalse), Field("localTime", isFalse),
      Field("defaultTimezone", isText(CampaignTiming.utc)), Field("late", isDuration(CampaignTiming.defaultLate)),
      Field("also", isEmpty), Field("localized", isEmpty),
    ],
    "audience": [Field("devices", isText(DeviceChoice.all.rawValue))],
    "quietHours": [Field("then", isText(QuietHours.Fate.hold.rawValue))],
    "repeat": [Field("zone", isText(CampaignTiming.utc)), Field("skipIfRunning", isFalse)],
    "stages": [Field("wait", isDuration(0)), Field("approval", isFalse)],
    "stages.winner": [
      Field("by", isText(CampaignVariants.Measure.opened.rawValue)),
      Field("minimum", isNumber(CampaignStages.Winner.standardMinimum)),
    ],
    "variants": [Field("weight", isNumber(1)), Field("localized", isEmpty)],
  ]

  /// Finds the fields that have the default values of the service.
  mutating func readOptions(
    _ members: [JSONValue.Member], _ fields: JobFields, _ destination: PushDestination, _ service: any PushService
  ) {
    func options(without names: Set<String>) -> PushOptions? {
      try? service.options(of: JobFields(members.filter { !names.contains($0.name) }), to: destination)
    }
    guard let given = options(without: []) else { return }
    if options(without: ["pushType", "priority"])?.pushType == given.pushType { names.insert("pushType") }
    guard let standard = options(without: ["priority"]) else { return }
    if standard.priority == given.priority { names.insert("priority") }
    if let expiration = try? fields.expiration(sendAt: nil), expiration == standard.expiration {
      names.insert("expiration")
    }
  }

  /// Returns the fields of a job without those that have their default values.
  func remove(from job: [JSONValue.Member]) -> [JSONValue.Member] {
    Self.removing(from: job.filter { !names.contains($0.name) }, path: "")
  }

  private static func removing(from members: [JSONValue.Member], path: String) -> [JSONValue.Member] {
    let fields = nested[path] ?? []
    return members.compactMap { member in
      if fields.contains(where: { $0.name == member.name && $0.isDefault(member.value) }) { return nil }
      let inner = path.isEmpty ? member.name : path + "." + member.name
      guard nested[inner] != nil else { return member }
      return JSONValue.Member(
        name: member.name, nameRange: member.nameRange, value: removing(from: member.value, path: inner))
    }
  }

  /// Removes the fields with default values from an object, or from each object of an array.
  private static func removing(from value: JSONValue, path: String) -> JSONValue {
    switch value.kind {
    case .object(let members): JSONValue(kind: .object(removing(from: members, path: path)), range: value.range)
    case .array(let elements):
      JSONValue(kind: .array(elements.map { removing(from: $0, path: path) }), range: value.range)
    default: value
    }
  }

  private static func isText(_ text: String) -> @Sendable (JSONValue) -> Bool {
    { if case .string(text) = $0.kind { true } else { false } }
  }

  private static func isNumber(_ number: Int) -> @Sendable (JSONValue) -> Bool {
    { if case .number(let digits) = $0.kind { Double(digits) == Double(number) } else { false } }
  }

  private static func isDuration(_ seconds: Int) -> @Sendable (JSONValue) -> Bool {
    { if case .string(let text) = $0.kind { DurationText.seconds(text) == seconds } else { false } }
  }

  @Sendable private static func isFalse(_ value: JSONValue) -> Bool {
    if case .bool(false) = value.kind { true } else { false }
  }

  @Sendable private static func isEmpty(_ value: JSONValue) -> Bool {
    switch value.kind {
    case .array(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    default: false
    }
  }
}
