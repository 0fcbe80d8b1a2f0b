import TestSupport
import Testing

/// A row of the table in `Tests/Pages/combinations.md`: an invalid combination according to the reference, and its
/// consequence.
struct CombinationRow: Sendable, CustomTestStringConvertible {
  /// Consequence of the combination.
  enum Verdict: Sendable {
    /// Refused by `campaign submit`, and by a worker that finds the job in the list.
    case refused
    /// `lint` warns, but the push is sent.
    case warned
  }

  /// Section of the reference.
  var section: String
  /// Certainty of the reference: `A` is Apple's current documentation, `A18` the archived documentation, `O` was
  /// observed, `I` was inferred.
  var certainty: String
  /// The problem, as the page shows it.
  var combination: String
  var verdict: Verdict
  /// Id of the rule; `job` for an error in a single field.
  var rule: String
  /// Path of the field, for example `apns.payload.aps.badge`.
  var field: String
  /// App of the job, from the configuration of ``CombinationTests``.
  var app: String
  var payload: String
  /// Push type and further fields of `apns`, as JSON with a leading comma.
  var own: String
  /// Further fields of the job, as JSON with a leading comma.
  var more: String
  var audience: String

  init(
    _ section: String, _ certainty: String, _ combination: String, _ verdict: Verdict, _ rule: String,
    at field: String, app: String = "news", _ payload: String = #"{"aps":{"alert":"a"}}"#, as type: String = "alert",
    own: String = "", _ more: String = "", audience: String = #"{"segment":"*"}"#
  ) {
    self.section = section
    self.certainty = certainty
    self.combination = combination
    self.verdict = verdict
    self.rule = rule
    self.field = field
    self.app = app
    self.payload = payload
    self.own = #","pushType":"\#(type)""# + own
    self.more = more
    self.audience = audience
  }

  /// Returns the same combination as a broadcast.
  func broadcast(_ channel: String = "YWJj") -> CombinationRow {
    var other = self
    other.audience = #"{"channel":"\#(channel)"}"#
    return other
  }

  /// Returns the job with an id.
  func job(_ id: String) -> String {
    #"{"id":"\#(id)","app":"\#(app)","audience":\#(audience),"apns":{"payload":\#(payload)\#(own)}\#(more)}"#
  }

  var testDescription: String { "\(section) \(combination)" }

  static let head = ["reference", "combination", "certainty", "at submit", "rule", "at"]

  var cells: [String] {
    let answer = verdict == .refused ? "refused" : "`lint` warns"
    return [section, combination, certainty, answer, rule, "`\(field)`"]
  }
}
