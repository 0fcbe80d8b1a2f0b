import TestSupport
import Testing

/// A row of the table in `Tests/Pages/combinations.md`: a combination that the reference calls wrong, and its consequence.
struct CombinationRow: Sendable, CustomTestStringConvertible {
  /// What becomes of it.
  enum Verdict: Sendable {
    /// By `campaign submit`, and by a worker that finds the job on the list.
    case refused
    /// `lint` says so; it is sent all the same.
    case warned
  }

  /// Of the reference.
  var section: String
  /// How sure the reference is: `A` is Apple's current documentation, `A18` the archived one, `O` was observed, `I`
  /// inferred.
  var certainty: String
  /// What is wrong, for the page.
  var combination: String
  var verdict: Verdict
  /// The rule's id; `job` for what is wrong with a field by itself.
  var rule: String
  /// Where, such as `payload.aps.badge`.
  var field: String
  /// The app of ``CombinationWorld`` that the job names.
  var app: String
  var payload: String
  /// More fields of the job, as JSON with a comma in front.
  var more: String
  var audience: String

  init(
    _ section: String, _ certainty: String, _ combination: String, _ verdict: Verdict, _ rule: String,
    at field: String, app: String = "news", _ payload: String = #"{"aps":{"alert":"a"}}"#, as type: String = "alert",
    _ more: String = "", audience: String = #"{"segment":"*"}"#
  ) {
    self.section = section
    self.certainty = certainty
    self.combination = combination
    self.verdict = verdict
    self.rule = rule
    self.field = field
    self.app = app
    self.payload = payload
    self.more = #","pushType":"\#(type)""# + more
    self.audience = audience
  }

  /// The same as a broadcast.
  func broadcast(_ channel: String = "YWJj") -> CombinationRow {
    var other = self
    other.audience = #"{"channel":"\#(channel)"}"#
    return other
  }

  /// The job, under an id.
  func job(_ id: String) -> String {
    #"{"id":"\#(id)","app":"\#(app)","audience":\#(audience),"payload":\#(payload)\#(more)}"#
  }

  var testDescription: String { "\(section) \(combination)" }

  static let head = ["reference", "combination", "certainty", "at submit", "rule", "at"]

  var cells: [String] {
    let said = verdict == .refused ? "refused" : "`lint` warns"
    return [section, combination, certainty, said, rule, "`\(field)`"]
  }
}
