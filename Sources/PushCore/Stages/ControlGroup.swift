/// Users who get nothing, so that those who do can be held against them.
public struct ControlGroup: Sendable, Equatable {
  /// Users who are in one of these are in the group.
  private let samples: [UserSample]

  /// - Parameters:
  ///   - campaign: has a group of its own, or none.
  ///   - share: of the app's users who get nothing of it at all but what is transactional: more than 0, less than 1; `nil`
  ///     for none. They are the same ones in all its campaigns.
  public init(of campaign: Campaign, app share: Double? = nil) {
    let ofApp = share.map { UserSample(share: $0, salt: "control of app " + campaign.app) }
    samples = [campaign.recipients.control, campaign.hasUsers && !campaign.recipients.isTransactional ? ofApp : nil]
      .compactMap { $0 }
  }

  /// Whether nobody is in it.
  public var isEmpty: Bool { samples.isEmpty }

  /// Whether a user is in it.
  public func has(_ user: UnsafeRawBufferPointer) -> Bool { samples.contains { $0.has(user) } }

  /// What a share has to be, for messages.
  public static let form = "a number above 0 and below 1: 0.05 is a twentieth of the users"

  /// Whether this can be the share of a group.
  public static func isValid(_ share: Double) -> Bool { share > 0 && share < 1 }
}

extension Campaign {
  /// Whether it goes to users, and not to tokens or a channel, of which nobody knows whose they are, nor to who has asked
  /// for it: a Live Activity.
  public var hasUsers: Bool {
    switch recipients.audience {
    case .segment, .users, .campaign: true
    case .tokens, .channel, .activity: false
    }
  }
}

extension CampaignJob {
  /// The control group of a job; `nil` for none.
  static func readControl(
    _ fields: JobFields, campaign id: String, _ audience: Audience, isTransactional: Bool
  ) throws(JobError) -> UserSample? {
    guard let value = fields.value("control") else { return nil }
    guard case .number(let text) = value.kind, let share = Double(text), ControlGroup.isValid(share) else {
      throw fields.error("control", "must be \(ControlGroup.form)", hint: "leave it out for no control group")
    }
    switch audience {
    case .segment, .users, .campaign: break
    case .tokens, .channel, .activity:
      throw fields.error("control", "needs users, and the audience names none", hint: "give a segment or users instead")
    }
    guard !isTransactional else {
      throw fields.error(
        "control", "a transactional campaign goes to everybody", hint: "leave out control, or transactional")
    }
    return UserSample(share: share, salt: "control of campaign " + id)
  }
}
