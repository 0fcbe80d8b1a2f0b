/// A share of a campaign's users that gets it first, and what must become of these before the others do.
///
/// The job becomes two campaigns: the first part has the job's own id, the rest `ID.rest`; see ``CampaignJob/rest(of:)``.
public struct Canary: Sendable, Equatable {
  /// The share of users that is first: above 0, below 1.
  public var share: Double
  /// Seconds from the end of the first part until it is looked at.
  public var wait: Int
  /// The share of failed pushes above which the others get nothing.
  public var mostFailures: Double
  /// The share of those whom it reached that must have opened it; `nil` for any.
  public var leastOpened: Double?
  /// In the rest: the campaign that is the first part.
  public var first: String?
  private let draw: UserDraw

  /// - Parameters:
  ///   - id: of the campaign that it is of.
  ///   - share: of users: above 0, below 1.
  ///   - wait: seconds.
  ///   - mostFailures: 0 to 1.
  ///   - leastOpened: above 0, at most 1.
  ///   - first: in the rest, the campaign that is the first part.
  public init(
    of id: String, share: Double, wait: Int, mostFailures: Double, leastOpened: Double? = nil, first: String? = nil
  ) {
    self.share = share
    self.wait = wait
    self.mostFailures = mostFailures
    self.leastOpened = leastOpened
    self.first = first
    // The same draw in both parts, and another than the campaign's own sample.
    draw = UserDraw(salt: "canary " + (first ?? id))
  }

  /// Whether a user is in this part.
  public func has(_ user: UnsafeRawBufferPointer) -> Bool { (draw.share(user) < share) == (first == nil) }

  /// What the id of the rest ends in.
  public static let suffix = ".rest"
  /// Seconds that may be waited: up to a week.
  static let waits = 0...7 * 86_400

  // MARK: Judging

  /// What became of the first part.
  public struct Finding: Sendable, Equatable {
    /// What became of its pushes.
    public var outcomes: [Outcome: Int]
    /// Users who have opened it.
    public var opened: Int
    /// ms since the epoch; `nil` before its end.
    public var finishedAt: Int?
    /// Whether somebody has stopped it.
    public var isCancelled: Bool

    /// Memberwise.
    public init(outcomes: [Outcome: Int], opened: Int = 0, finishedAt: Int?, isCancelled: Bool = false) {
      self.outcomes = outcomes
      self.opened = opened
      self.finishedAt = finishedAt
      self.isCancelled = isCancelled
    }
  }

  /// What follows for the rest.
  public enum Verdict: Sendable, Equatable {
    case goOn
    /// It is too early to say.
    case wait(String)
    /// A person has to look.
    case pause(String)
    /// Somebody has stopped the first part: the rest ends with it.
    case cancel
  }

  /// What follows for the rest from the first part.
  ///
  /// - Parameters:
  ///   - finding: what became of it.
  ///   - isResumed: whether a person has set the rest going who knows what became of the first part.
  ///   - now: ms since the epoch.
  public func verdict(_ finding: Finding, isResumed: Bool = false, now: Int) -> Verdict {
    let name = first ?? ""
    if finding.isCancelled { return .cancel }
    guard let finishedAt = finding.finishedAt else { return .wait("canary: campaign \(name), its first part, goes on") }
    let due = finishedAt + wait * 1000
    guard now >= due else {
      return .wait("canary: campaign \(name), its first part, is looked at \(Timestamp.format(milliseconds: due))")
    }
    if isResumed { return .goOn }
    let failed = finding.outcomes.reduce(0) { $0 + ($1.key.isRefusal ? $1.value : 0) }
    let reached = finding.outcomes[.accepted] ?? 0
    let gone = (finding.outcomes[.unregistered] ?? 0) + (finding.outcomes[.expiredToken] ?? 0)
    let answered = reached + failed + gone
    guard answered > 0 else {
      return .pause(
        "canary: campaign \(name) was sent to nobody, so it says nothing; resume sends the rest all the same")
    }
    guard Double(failed) <= mostFailures * Double(answered) else {
      return .pause(
        "canary: \(failed) of \(answered) pushes of campaign \(name) failed, more than \(Self.percent(mostFailures)); see "
          + "`carillon results export \(name)`, mend it, and resume or cancel the rest")
    }
    if let leastOpened, Double(finding.opened) < leastOpened * Double(reached) {
      return .pause(
        "canary: \(finding.opened) of \(reached) users have opened campaign \(name), less than "
          + "\(Self.percent(leastOpened)); resume or cancel the rest")
    }
    return .goOn
  }

  private static func percent(_ share: Double) -> String { "\((share * 1000).rounded() / 10) %" }
}

extension Canary {
  /// - Parameters:
  ///   - fields: the job's.
  ///   - id: the campaign's.
  ///   - audience: whom it goes to.
  init?(_ fields: JobFields, of id: String, _ audience: JobAudience) throws(JobError) {
    guard let value = fields.value("canary") else { return nil }
    let canary = try JobFields(
      value, path: "canary", known: ["share", "wait", "maxFailures", "minOpened", "of"], planned: [])
    switch audience.audience {
    case .segment, .users, .campaign: break
    case .tokens, .activity, .channel:
      throw fields.error("canary", "needs users, of whom some are first", hint: "give a segment or users instead")
    }
    guard audience.limit == nil else {
      throw fields.error(
        "canary", "stands beside audience.limit", hint: "import the users as a segment, and leave out one")
    }
    let room =
      PlainName.maximumLength - Self.suffix.utf8.count
      - (fields.value("repeat") == nil ? 0 : Repetition.suffixLength)
    let first = try canary.string("of")
    guard id.utf8.count <= room || first != nil else {
      throw fields.error(
        "id", "is too long for a job with a canary: the rest is a campaign \(Self.suffix) behind it",
        hint: "use at most \(room) characters")
    }
    guard let share = try Self.share("share", canary), share < 1 else {
      throw canary.error("share", "must be a number above 0 and below 1", hint: "0.01 is a hundredth of the users")
    }
    let text = try canary.requiredString("wait")
    guard let wait = DurationText.seconds(text), Self.waits.contains(wait) else {
      throw canary.error(
        "wait", "\(Excerpt.quoted(text)) is not a duration of up to 7d", hint: "it must be \(DurationText.form)")
    }
    guard let mostFailures = try Self.share("maxFailures", canary, orNone: true) else {
      throw canary.error("maxFailures", "is missing", hint: "0.05 stops when more than a twentieth of the first failed")
    }
    if let first, first + Self.suffix != id {
      throw canary.error("of", "is written by Carillon itself, into the job of the rest", hint: "leave it out")
    }
    self.init(
      of: id, share: share, wait: wait, mostFailures: mostFailures,
      leastOpened: try Self.share("minOpened", canary), first: first)
  }

  private static func share(
    _ name: String, _ fields: JobFields, orNone: Bool = false
  ) throws(JobError) -> Double? {
    guard let value = fields.value(name) else { return nil }
    guard case .number(let text) = value.kind, let share = Double(text), share > 0 || orNone && share == 0, share <= 1
    else { throw fields.error(name, "must be a share, \(orNone ? "from 0 to 1" : "above 0 and at most 1")") }
    return share
  }
}

extension CampaignJob {
  /// The job of the rest of a campaign with a canary.
  ///
  /// - Parameter job: a valid job.
  /// - Throws: when the job is not valid JSON.
  public static func rest(of job: [UInt8]) throws(JSONSyntaxError) -> [UInt8] {
    let root = try JSONValue(parsing: job, maximumDepth: maximumNesting)
    guard case .object(let members) = root.kind, case .string(let id)? = members.value("id")?.kind else { return job }
    var json = JSONWriter()
    json.beginObject()
    for member in members {
      json.name(member.name)
      switch (member.name, member.value.kind) {
      case ("id", _): json.value(id + Canary.suffix)
      case ("canary", .object(let fields)):
        json.beginObject()
        for field in fields where field.name != "of" {
          json.name(field.name)
          json.raw(job[field.value.range])
        }
        json.member("of", id)
        json.endObject()
      default: json.raw(job[member.value.range])
      }
    }
    json.endObject()
    return json.take()
  }
}
