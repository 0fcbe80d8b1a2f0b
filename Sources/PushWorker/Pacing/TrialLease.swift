import CampaignStore
import PushCore

/// The sends of a campaign that this worker may make while its guard has not decided.
struct TrialLease {
  /// Lent, and not spent yet.
  private(set) var allowance = 0
  /// Spent on credit that a slice has asked Redis for.
  private(set) var reserved = 0
  /// What Redis last answered.
  private(set) var answer: GuardTrialAnswer?
  /// `EventLoop.now` when it said that.
  private var heardAt: UInt64 = 0
  /// Since when it has said just that, in `EventLoop.now`.
  private var quietSince: UInt64 = 0
  private(set) var isAsking = false
  private(set) var askedAt: UInt64 = 0
  /// All that was lent here so far.
  private var lent = 0
  private var told = GuardCounts()
  private var returned = 0

  /// What all workers were answered, as Redis knows it; where Redis has forgotten some of that, what Redis was told
  /// here. A worker that has told of all answers that one may have would otherwise wait for others, who may have nothing
  /// left to send.
  var fleetCounts: GuardCounts {
    guard let counts = answer?.counts, counts.answers >= told.answers else { return told }
    return counts
  }

  /// What Redis is to be told and asked.
  struct Question {
    var wanted: Int
    var news: GuardCounts
    var returned: Int
  }

  /// ns between two questions that are not urgent.
  private static let pace: UInt64 = 20_000_000
  /// ns between such questions of a campaign whose rate makes its trial a long one.
  private static let slowPace: UInt64 = 200_000_000
  /// ns without news after which nothing more is expected, nothing being under way.
  private static let silence: UInt64 = 500_000_000

  /// Spends sends on credit that is being asked for.
  mutating func spend(_ count: Int) {
    allowance -= count
    reserved += count
  }

  /// Takes note of what became of credit: the rest of it may be spent again.
  mutating func reconcile(spent count: Int, sent: Int) {
    reserved -= count
    allowance += count - sent
  }

  /// What to ask now, if anything.
  ///
  /// - Parameters:
  ///   - wanted: sends that slices could make at once.
  ///   - unanswered: sends under way.
  ///   - isHolding: whether answers are held back.
  ///   - counts: what was answered here so far.
  ///   - isAlone: whether there are no other workers. Among others a worker takes no more than half of what the fleet may
  ///     send: should it be the only one to be answered badly, as much is left to the others.
  ///   - isSlow: whether the campaign's rate lets it send little.
  mutating func question(
    wanted: Int, unanswered: Int, isHolding: Bool, counts: GuardCounts, minimum: Int, isAlone: Bool = true,
    isSlow: Bool = false, now: UInt64
  ) -> Question? {
    guard !isAsking else { return nil }
    let ended = lent - counts.answers - unanswered - reserved - allowance
    let most = isAlone ? 2 * minimum : max(0, minimum - (lent - ended))
    let news = counts - told
    let isDue = now - askedAt >= (isSlow ? Self.slowPace : Self.pace)
    let isShort = wanted > 0 && allowance <= 0 && (isDue || answer.map { $0.leased > 0 } ?? true)
    let isUnused = wanted == 0 && allowance > 0
    guard isShort || news.answers * 8 >= minimum || isDue && (news.answers > 0 || isHolding || isUnused) else {
      return nil
    }
    // What no slice has a use for, others may have.
    let unused = isUnused ? allowance : 0
    allowance -= unused
    isAsking = true
    askedAt = now
    return Question(
      wanted: max(0, min(wanted - allowance, most)), news: news, returned: max(0, ended + unused - returned))
  }

  /// What Redis knows of this worker, when it asks whether to leave the campaign to the others; `nil` while another
  /// question is under way.
  mutating func withdrawal(now: UInt64) -> (told: GuardCounts, leased: Int)? {
    guard !isAsking, now - askedAt >= Self.pace else { return nil }
    isAsking = true
    askedAt = now
    return (told, lent - returned)
  }

  /// Control has answered that, or not.
  mutating func endWithdrawal() { isAsking = false }

  /// What Redis has yet to be told when no slice is in hand any more; `nil` for nothing. What was lent and not answered is
  /// for others to send: they must not wait until it is taken for lost.
  ///
  /// - Parameters:
  ///   - counts: what was answered here so far.
  ///   - unanswered: sends that may be answered yet.
  mutating func rest(counts: GuardCounts, unanswered: Int, now: UInt64) -> Question? {
    let news = counts - told
    let unused = lent - counts.answers - unanswered - returned
    guard !isAsking, news.answers > 0 || unused > 0 else { return nil }
    allowance = 0
    isAsking = true
    askedAt = now
    return Question(wanted: 0, news: news, returned: max(0, unused))
  }

  /// Notes the answer of Redis, or that there was none.
  ///
  /// - Parameter lease: ns.
  mutating func take(_ answer: GuardTrialAnswer?, to question: Question, lease: UInt64, now: UInt64) {
    isAsking = false
    guard let answer else { return }
    // Where Redis, or this worker, was away meanwhile, nobody knows whether it was quiet.
    let isNews = answer.counts != self.answer?.counts || answer.underWay != self.answer?.underWay
    if isNews || now - heardAt > Self.memory(lease) { quietSince = now }
    self.answer = answer
    heardAt = now
    told = told + question.news
    returned += question.returned
    lent += answer.leased
    allowance += answer.leased
  }

  /// Whether no further answers are to be expected, from any worker.
  ///
  /// - Parameter lease: ns without news after which Redis takes what is under way for lost, and lends it again to whoever
  ///   asks, so that more is answered. Only when that much again has passed does nobody want to send: what a dead worker had
  ///   in hand is with another by then.
  func isQuiet(now: UInt64, lease: UInt64) -> Bool {
    guard let answer, now - heardAt <= Self.memory(lease) else { return false }
    return now - quietSince > (answer.underWay > 0 ? 2 * lease : Self.silence)
  }

  /// ns after which what Redis said is too old to go by.
  private static func memory(_ lease: UInt64) -> UInt64 { lease / 2 }
}
