/// A campaign of a case, with its allowed results.
public struct FaultCampaign: Sendable {
  /// The policy for targets in doubt: the values of `ambiguity` in a job.
  public enum Ambiguity: String, Sendable {
    case resend, skip
  }

  /// The campaign's id.
  public var id: String
  /// The campaign's app.
  public var app = "news"
  /// The audience; all users by default.
  public var audience = #"{"segment":"*"}"#
  /// The content: a member of the job.
  public var content = #""apns":{"payload":{"aps":{"alert":"hi"}}}"#
  /// The expected targets; `nil` for all devices of the first app.
  public var tokens: [String]?
  /// The policy for targets in doubt.
  public var ambiguity = Ambiguity.resend
  /// Which results are stored: `all`, `failures` or `none`.
  public var results = "failures"
  /// More members of the job, as JSON values by name.
  public var more: [String: String] = [:]
  /// The expected final state.
  public var end = "completed"
  /// Tokens of poison targets: they may end as `unknown` even if ``ambiguity`` is not `skip`.
  public var mayBeUnknown: Set<String> = []
  /// Tokens that may be missing among the targets, because their users may depart before the expansion.
  public var mayBeLeftOut: Set<String> = []

  /// - Parameter id: a unique id.
  public init(_ id: String) { self.id = id }

  /// Creates a campaign and changes it.
  public init(_ id: String, _ change: (inout FaultCampaign) -> Void) {
    self.id = id
    change(&self)
  }

  /// Whether no worker dies with an unrecorded answer, so that every 200 must be recorded as accepted.
  public var losesNoAnswer = false

  var members: [String: String] {
    more.merging(["ambiguity": "\"\(ambiguity.rawValue)\"", "results": "\"\(results)\""]) { given, _ in given }
  }
}
