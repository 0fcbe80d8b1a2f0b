/// A campaign of a case, and what may become of it.
public struct FaultCampaign: Sendable {
  /// What becomes of targets in doubt; see the contract.
  public enum Ambiguity: String, Sendable {
    case resend, skip
  }

  /// Its id.
  public var id: String
  /// The app that it is for.
  public var app = "news"
  /// To everybody, unless the case says otherwise.
  public var audience = #"{"segment":"*"}"#
  /// What it says: the job's member.
  public var content = #""payload":{"aps":{"alert":"hi"}}"#
  /// The targets it must have; `nil` for all devices of the world.
  public var tokens: [String]?
  /// What becomes of targets in doubt.
  public var ambiguity = Ambiguity.resend
  /// Which results are kept besides: `all`, `failures`, `none`.
  public var results = "failures"
  /// More members of the job, as JSON values by name.
  public var more: [String: String] = [:]
  /// The state that it ends in.
  public var end = "completed"
  /// Tokens that may end as `unknown` though nobody asked for `skip`: poison.
  public var mayBeUnknown: Set<String> = []
  /// Tokens that need not be targets: their users may be gone before the expansion.
  public var mayBeLeftOut: Set<String> = []

  /// - Parameter id: one of its own.
  public init(_ id: String) { self.id = id }

  /// The same, changed.
  public init(_ id: String, _ change: (inout FaultCampaign) -> Void) {
    self.id = id
    change(&self)
  }

  /// Whether nobody dies who knows of an answer, so that every 200 must be recorded as accepted.
  public var losesNoAnswer = false

  var members: [String: String] {
    more.merging(["ambiguity": "\"\(ambiguity.rawValue)\"", "results": "\"\(results)\""]) { given, _ in given }
  }
}
