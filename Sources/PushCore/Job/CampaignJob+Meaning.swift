/// Comparison of two jobs by their meaning, to recognise a job that is submitted again.
extension CampaignJob {
  /// Returns the meaning of a job in a canonical form: ``canonical(_:)`` without the fields that have their default
  /// values, and with one spelling for each time and duration. Two jobs are the same if their meanings are equal.
  ///
  /// - Parameters:
  ///   - job: the text of a job, which may be malformed.
  ///   - services: returns the push services of an app. The services define the defaults of their own objects, of
  ///     `urgency` and of `expiration`.
  /// - Throws: an error if the job is not valid JSON.
  public static func meaning(
    of job: [UInt8], _ services: (String) -> [any PushService]
  ) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    guard case .object(let members) = root.kind else { return try canonical(job) }
    let fields = JobFields(members)
    var defaults = JobDefaults()
    if case .string(let app)? = fields.value("app")?.kind {
      defaults.readOptions(members, fields, destination(root), services(app))
    }
    var json = JSONWriter()
    JSONValue.writeCanonical(JobTimeSpelling.normalize(in: defaults.remove(from: given(members))), to: &json)
    return json.take()
  }
}

/// Fields of a job that can be omitted because they have their default values.
private struct JobDefaults {
  /// Fields of the job itself that have their default values.
  private var names: Set<String> = []
  /// Fields with their default values in the own object of each service, by the name of the service.
  private var own: [String: Set<String>] = [:]

  /// Field of an object within the job, with a check for its default value.
  private struct Field: Sendable {
    let name: String
    let isDefault: @Sendable (JSONValue) -> Bool

    init(_ name: String, _ isDefault: @escaping @Sendable (JSONValue) -> Bool) {
      (self.name, self.isDefault) = (name, isDefault)
    }
  }

  /// Fields with a default value, by the path of the object that contains them.
  private static let nested: [String: [Field]] = [
    "": [
      Field("lane", isText(Lane.normal.rawValue)), Field("results", isText(ResultsMode.failures.rawValue)),
      Field("ambiguity", isText(Ambiguity.resend.rawValue)), Field("ttl", isDuration(Campaign.defaultTimeToLive)),
      Field("transactional", isFalse), Field("vars", isFalse), Field("localTime", isFalse),
      Field("defaultTimezone", isText(CampaignTiming.utc)), Field("late", isDuration(CampaignTiming.defaultLate)),
      Field("also", isEmpty), Field("localized", isEmpty),
    ],
    "audience": [Field("devices", isText(DeviceChoice.all.rawValue))],
    "quietHours": [Field("then", isText(QuietHours.Handling.hold.rawValue))],
    "repeat": [Field("zone", isText(CampaignTiming.utc)), Field("skipIfRunning", isFalse)],
    "stages": [Field("wait", isDuration(0)), Field("approval", isFalse)],
    "stages.winner": [
      Field("by", isText(CampaignVariants.Measure.opened.rawValue)),
      Field("minimum", isNumber(CampaignStages.Winner.standardMinimum)),
    ],
    "variants": [Field("weight", isNumber(1)), Field("localized", isEmpty)],
  ]

  /// Finds the fields that have the default values of the app's services.
  mutating func readOptions(
    _ members: [JSONValue.Member], _ fields: JobFields, _ destination: PushDestination, _ services: [any PushService]
  ) {
    var addressed = services
    if let given = try? fields.strings("services") {
      addressed = services.filter { given.contains($0.name) }
      if Set(given) == Set(services.map(\.name)) { names.insert("services") }
    }
    var common: Set<String> = ["urgency", "expiration"]
    for service in addressed { common.formIntersection(readOptions(members, fields, destination, of: service)) }
    if !addressed.isEmpty { names.formUnion(common) }
  }

  /// Finds the fields of a service's own object that have their default values.
  ///
  /// - Returns: the names `urgency` and `expiration`, if these fields have the default value of this service.
  private mutating func readOptions(
    _ members: [JSONValue.Member], _ fields: JobFields, _ destination: PushDestination, of service: any PushService
  ) -> Set<String> {
    var own: Set<String> = []
    if case .object(let object)? = fields.value(service.name)?.kind {
      own = Set(object.filter { if case .null = $0.value.kind { true } else { false } }.map(\.name))
    }
    defer { self.own[service.name] = own }
    let content = JobContent(of: members, for: service)
    guard !Self.hasOptionsElsewhere(fields, service) else { return [] }
    func options(urgency: Urgency?) -> PushOptions? {
      try? service.options(of: content.own.without(own), content.message, urgency, to: destination)
    }
    guard let given = options(urgency: content.urgency) else { return [] }
    for field in service.jobFields where field.name != service.payloadField && content.own.value(field.name) != nil {
      own.insert(field.name)
      if options(urgency: content.urgency) != given { own.remove(field.name) }
    }
    var common: Set<String> = []
    if content.urgency != nil, options(urgency: nil) == given { common.insert("urgency") }
    if let expiration = try? fields.expiration(sendAt: nil), expiration == given.expiration {
      common.insert("expiration")
    }
    return common
  }

  /// Returns whether the options also depend on a variant, or on a template, whose content is unknown here.
  private static func hasOptionsElsewhere(_ job: JobFields, _ service: any PushService) -> Bool {
    guard job.value("template") == nil else { return true }
    guard case .array(let variants)? = job.value("variants")?.kind else { return false }
    return variants.contains { variant in
      guard case .object(let members) = variant.kind else { return false }
      return members.value("template") != nil || members.value(service.name) != nil
    }
  }

  /// Returns the fields of a job without those that have their default values.
  func remove(from job: [JSONValue.Member]) -> [JSONValue.Member] {
    let kept = job.filter { !names.contains($0.name) }.compactMap { member -> JSONValue.Member? in
      guard let own = own[member.name], case .object(let members) = member.value.kind else { return member }
      let kept = members.filter { !own.contains($0.name) }
      guard !kept.isEmpty else { return nil }
      return JSONValue.Member(
        name: member.name, nameRange: member.nameRange,
        value: JSONValue(kind: .object(kept), range: member.value.range))
    }
    return Self.removing(from: kept, path: "")
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

/// Times and durations of a job that can be written in several ways.
private enum JobTimeSpelling {
  /// The fields of a job whose value may be a time or a duration.
  private static let fields = Set(JobField.all.filter(\.mayBeTime).map(\.name))
  /// The names of members with a time or a duration, by the field whose objects contain them.
  private static let members: [String: Set<String>] = ["stages": ["wait"], "repeat": ["end"]]

  /// Writes instants in UTC, such as `2026-12-01T09:00:00Z`, and durations with the largest unit that is exact.
  static func normalize(in job: [JSONValue.Member]) -> [JSONValue.Member] {
    job.map { member in
      if let names = members[member.name] { return member.with(normalize(names, in: member.value)) }
      return fields.contains(member.name) ? member.with(normalize(member.value)) : member
    }
  }

  private static func normalize(_ names: Set<String>, in value: JSONValue) -> JSONValue {
    switch value.kind {
    case .object(let members):
      let unified = members.map { names.contains($0.name) ? $0.with(normalize($0.value)) : $0 }
      return JSONValue(kind: .object(unified), range: value.range)
    case .array(let elements):
      return JSONValue(kind: .array(elements.map { normalize(names, in: $0) }), range: value.range)
    default: return value
    }
  }

  private static func normalize(_ value: JSONValue) -> JSONValue {
    text(of: value).map { JSONValue(kind: .string($0), range: value.range) } ?? value
  }

  /// Returns a time or duration in the spelling of ``normalize(in:)``; `nil` for another value.
  private static func text(of value: JSONValue) -> String? {
    guard case .string(let text) = value.kind else { return nil }
    if let seconds = DurationText.seconds(text) { return DurationText.format(milliseconds: seconds * 1000) }
    return Timestamp.milliseconds(text).map { Timestamp.format(milliseconds: $0).replacing(".000Z", with: "Z") }
  }
}

extension JSONValue.Member {
  fileprivate func with(_ value: JSONValue) -> Self { Self(name: name, nameRange: nameRange, value: value) }
}
