/// Control group: users who get nothing, so that the effect of the campaign can be measured.
public struct ControlGroup: Sendable, Equatable {
  /// Samples whose users form the group.
  private let samples: [UserSample]

  /// - Parameters:
  ///   - campaign: the campaign, with or without its own control group.
  ///   - share: share of the app's users in the app's own control group: more than 0, less than 1; `nil` for none.
  ///     These users get only transactional campaigns of the app. The app's group has the same users in all campaigns.
  public init(of campaign: Campaign, app share: Double? = nil) {
    let ofApp = share.map { UserSample(share: $0, salt: "control of app " + campaign.app) }
    samples = [campaign.recipients.control, campaign.hasUsers && !campaign.recipients.isTransactional ? ofApp : nil]
      .compactMap { $0 }
  }

  /// Whether the group is empty.
  public var isEmpty: Bool { samples.isEmpty }

  /// Returns whether a user is in the group.
  public func has(_ user: UnsafeRawBufferPointer) -> Bool { samples.contains { $0.has(user) } }

  /// Description of a valid share, for error messages.
  public static let form = "a number above 0 and below 1: 0.05 is a twentieth of the users"

  /// Returns whether a number can be the share of a group.
  public static func isValid(_ share: Double) -> Bool { share > 0 && share < 1 }
}

extension Campaign {
  /// Whether the campaign can have a control group. Campaigns to tokens and channels can't, because their users are
  /// unknown. Campaigns to a Live Activity can't, because its users have asked for the pushes.
  public var hasUsers: Bool {
    switch recipients.audience {
    case .segment, .users, .campaign: true
    case .tokens, .channel, .activity: false
    }
  }
}

extension CampaignJob {
  /// Reads the control group of a job; `nil` for none.
  static func readControl(
    _ fields: JobFields, campaign id: String, _ audience: Audience, isTransactional: Bool
  ) throws(JobError) -> UserSample? {
    guard let value = fields.value("control") else { return nil }
    guard case .number(let text) = value.kind, let share = Double(text), ControlGroup.isValid(share) else {
      throw fields.error("control", "must be \(ControlGroup.form)", hint: "omit it for no control group")
    }
    switch audience {
    case .segment, .users, .campaign: break
    case .tokens, .channel, .activity:
      throw fields.error("control", "needs an audience of users", hint: "give a segment or users instead")
    }
    guard !isTransactional else {
      throw fields.error(
        "control", "can't be combined with transactional", hint: "omit control or transactional")
    }
    return UserSample(share: share, salt: "control of campaign " + id)
  }
}
