/// Users who get a campaign first, and how long the rest waits after its beginning. Meanwhile somebody can look at it, and
/// pause or cancel it.
public struct FirstWave: Sendable, Equatable {
  /// Those whom the job lists, each once. They are in it whatever draws say: no sample and no control group leaves them out.
  public let users: [String]
  /// A share of the users, in the place of a list.
  public let share: UserSample?
  /// Seconds from the beginning of the campaign.
  public let wait: Int
  private let names: Set<[UInt8]>

  /// How many users a job can list.
  public static let maximumUsers = 100
  /// Seconds for which the rest can wait: up to a week, as long as results stay.
  public static let waits = 1...7 * 86400

  /// - Parameters:
  ///   - users: each allowed by `UserID`.
  ///   - wait: seconds from the beginning of the campaign.
  public init(users: [String], wait: Int) {
    var seen: Set<String> = []
    self.users = users.filter { seen.insert($0).inserted }
    self.wait = wait
    share = nil
    names = Set(users.map { Array($0.utf8) })
  }

  /// - Parameters:
  ///   - share: of the users who get it first.
  ///   - wait: seconds from the beginning of the campaign.
  public init(share: UserSample, wait: Int) {
    users = []
    self.share = share
    self.wait = wait
    names = []
  }

  /// Whether a user is in it.
  public func has(_ user: UnsafeRawBufferPointer) -> Bool { share?.has(user) ?? lists(user) }

  /// Whether the job lists a user.
  public func lists(_ user: UnsafeRawBufferPointer) -> Bool {
    // Most are told by their length, so that nothing is copied.
    names.contains { $0.count == user.count && user.elementsEqual($0) }
  }

  /// - Parameter test: the value of a job's field.
  init(
    _ test: JSONValue, _ audience: Audience, path: String
  ) throws(JobError) {
    let fields = try JobFields(test, path: path, known: ["users", "wait"], planned: [])
    switch audience {
    case .segment, .users, .campaign: break
    case .tokens, .channel, .activity:
      throw JobError(
        field: path, message: "needs users, and the audience names none", hint: "give a segment or users instead")
    }
    guard let users = try fields.strings("users"), 1...Self.maximumUsers ~= users.count else {
      throw fields.error("users", "must be 1 to \(Self.maximumUsers) users, who get it first")
    }
    for (index, user) in users.enumerated() {
      if let problem = UserID.problem(user) { throw fields.error("users[\(index)]", problem) }
    }
    guard let text = try fields.string("wait"), let seconds = DurationText.seconds(text), Self.waits ~= seconds else {
      throw fields.error(
        "wait", "must be how long the rest waits, 1s to 7d", hint: "it must be \(DurationText.form)")
    }
    self.init(users: users, wait: seconds)
  }
}
