/// Why a user of an audience gets nothing.
///
/// A user counts under one reason. The cases stand in the order in which the expansion looks: the first that applies to the
/// user is the reason. Of a user with several devices it is the reason of the device that came furthest.
public enum LeftOut: Int, CaseIterable, Sendable {
  /// The job excludes the user.
  case excluded
  /// The user is on a suppression list that applies.
  case suppressed
  /// The user has no device.
  case noDevice
  /// The sample of the job does not have the user.
  case notSampled
  /// No device is of the campaign's push service.
  case noDeviceOfService
  /// No device is of the campaign's app.
  case noDeviceOfApp
  /// No device is of the app's environment.
  case otherEnvironment
  /// No token is of the kind that the campaign needs.
  case noTokenOfKind
  /// No token is of the campaign's Live Activity.
  case noTokenOfActivity
  /// The push service has called every token bad.
  case quarantined
  /// No token can be sent to: its record is damaged.
  case unusable
  /// The condition `where` holds for no device.
  case notMatching
  /// The limit of the job takes other users, who were seen later.
  case overLimit

  /// The name in Redis and JSON, and what these users are, in the order of the cases.
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

  /// What these users are, for people: it follows their number.
  public var text: String { Self.words[rawValue].text }
}

/// How the users of an audience divide: those who get a push, those in a control group, and those left out, by reason.
public struct AudienceCount: Sendable, Equatable {
  /// Users with at least one target.
  public var users = 0
  private var leftOut = [Int](repeating: 0, count: LeftOut.allCases.count)

  /// An empty count.
  public init() {}

  /// How many users are left out for a reason.
  public subscript(reason: LeftOut) -> Int {
    get { leftOut[reason.rawValue] }
    set { leftOut[reason.rawValue] = newValue }
  }

  /// The reasons that apply to any user, and to how many.
  public var reasons: [(reason: LeftOut, count: Int)] {
    zip(LeftOut.allCases, leftOut).filter { $1 > 0 }.map { ($0, $1) }
  }

  /// The reasons with their counts, for people.
  public var text: String { reasons.map { "\($0.count) \($0.reason.text)" }.joined(separator: ", ") }

  /// How many users are left out.
  public var left: Int { leftOut.reduce(0, +) }

  /// The fields of a slice and of a campaign that have the counts.
  static let fields = ["users"] + LeftOut.allCases.map(field)

  private static func field(_ reason: LeftOut) -> String { "left:" + reason.name }

  /// The fields that are not zero.
  var stored: [(String, Int)] {
    (users > 0 ? [("users", users)] : []) + reasons.map { (Self.field($0.reason), $0.count) }
  }

  /// - Parameter fields: of a slice or a campaign.
  init(_ fields: StoredFields) throws(StoreError) {
    users = try fields.number("users") ?? 0
    for reason in LeftOut.allCases { self[reason] = try fields.number(Self.field(reason)) ?? 0 }
  }

  static func += (left: inout AudienceCount, right: AudienceCount) {
    left.users += right.users
    for place in left.leftOut.indices { left.leftOut[place] += right.leftOut[place] }
  }
}
