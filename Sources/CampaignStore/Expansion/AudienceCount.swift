/// Reason why a user of an audience gets no push.
///
/// Each user counts under one reason. The cases are in the order of the expansion's checks, and the first case that
/// applies to the user counts. For a user with several devices, the device that passed the most checks gives the
/// reason.
public enum ExclusionReason: Int, CaseIterable, Sendable {
  /// The job excludes the user.
  case excluded
  /// The user is on a suppression list that applies.
  case suppressed
  /// The user has no device.
  case noDevice
  /// The user is not in the sample of the job.
  case notSampled
  /// No device belongs to the campaign's push service.
  case noDeviceOfService
  /// No device belongs to the campaign's app.
  case noDeviceOfApp
  /// No device belongs to the app's environment.
  case otherEnvironment
  /// No token has the kind that the campaign needs.
  case noTokenOfKind
  /// No token belongs to the campaign's Live Activity.
  case noTokenOfActivity
  /// The push service has rejected every token as bad.
  case quarantined
  /// No token is usable, because every device record is damaged.
  case unusable
  /// No device matches the condition `where`.
  case notMatching
  /// The job has a limit, and users who were seen more recently were selected.
  case overLimit

  /// The name in Redis and JSON, and a description of these users, in the order of the cases.
  private static let words: [(name: String, text: String)] = [
    ("excluded", "excluded by the job (exclude)"),
    ("suppressed", "on a suppression list"),
    ("noDevice", "without a device"),
    ("notSampled", "not in the sample"),
    ("noDeviceOfService", "without a device of this push service"),
    ("noDeviceOfApp", "without a device of this app"),
    ("otherEnvironment", "with devices of another environment only"),
    ("noTokenOfKind", "without a token of the kind that this push needs"),
    ("noTokenOfActivity", "without a token of this Live Activity"),
    ("quarantined", "with quarantined tokens only"),
    ("unusable", "with damaged tokens only"),
    ("notMatching", "filtered out by the condition (where)"),
    ("overLimit", "beyond the limit"),
  ]

  /// The name in Redis and JSON.
  public var name: String { Self.words[rawValue].name }

  /// Description of these users for people, to be written after their number.
  public var text: String { Self.words[rawValue].text }
}

/// Breakdown of an audience: users who get a push, users in a control group, and users who are left out, by reason.
public struct AudienceCount: Sendable, Equatable {
  /// Users with at least one target.
  public var users = 0
  private var leftOut = [Int](repeating: 0, count: ExclusionReason.allCases.count)

  /// An empty count.
  public init() {}

  /// Number of users who are left out for a reason.
  public subscript(reason: ExclusionReason) -> Int {
    get { leftOut[reason.rawValue] }
    set { leftOut[reason.rawValue] = newValue }
  }

  /// The reasons that apply to at least one user, with the number of users.
  public var reasons: [(reason: ExclusionReason, count: Int)] {
    zip(ExclusionReason.allCases, leftOut).filter { $1 > 0 }.map { ($0, $1) }
  }

  /// The reasons with their counts, for people.
  public var text: String { reasons.map { "\($0.count) \($0.reason.text)" }.joined(separator: ", ") }

  /// Number of users who are left out.
  public var left: Int { leftOut.reduce(0, +) }

  /// The fields of a slice and of a campaign that have the counts.
  static let fields = ["users"] + ExclusionReason.allCases.map(field)

  private static func field(_ reason: ExclusionReason) -> String { "left:" + reason.name }

  /// The fields that are not zero.
  var stored: [(String, Int)] {
    (users > 0 ? [("users", users)] : []) + reasons.map { (Self.field($0.reason), $0.count) }
  }

  /// Reads the counts.
  ///
  /// - Parameter fields: the fields of a slice or a campaign.
  init(_ fields: StoredFields) throws(StoreError) {
    users = try fields.number("users") ?? 0
    for reason in ExclusionReason.allCases { self[reason] = try fields.number(Self.field(reason)) ?? 0 }
  }

  static func += (left: inout AudienceCount, right: AudienceCount) {
    left.users += right.users
    for place in left.leftOut.indices { left.leftOut[place] += right.leftOut[place] }
  }
}
