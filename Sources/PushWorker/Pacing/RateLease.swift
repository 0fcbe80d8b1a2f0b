import CampaignStore

/// The pushes of a rate that this worker may send: lent for a slice of time, and let go a step at a time. Pure.
///
/// What is lent is good for a moment: a worker that stood still must not send at once what it missed. What it has no use
/// for goes back with its next question, and what a dead worker had is missed until the bucket has caught it up.
struct RateLease {
  /// Lent, and may be sent now.
  private(set) var allowance = 0
  /// Spent on credit that a slice has asked Redis for.
  private(set) var reserved = 0
  /// Since when nothing but the rate holds its pushes up, in `EventLoop.now`; `nil` while something else does.
  private(set) var limitedSince: UInt64?
  private(set) var isAsking = false
  /// `EventLoop.now` from which on asking is worth it.
  private var dueAt: UInt64 = 0
  /// What was lent last.
  private var lot = Lot()
  /// To be given back.
  private var unused = 0
  /// Sent since the last question.
  private var used = 0

  /// What Redis is to be asked.
  struct Question: Equatable {
    var wanted: Int
    /// Lent earlier, and not sent.
    var returned: Int
  }

  /// Pushes that were lent together.
  private struct Lot {
    var total = 0
    /// Of them, how many may or might have been sent.
    var released = 0
    /// `EventLoop.now` when they came.
    var at: UInt64 = 0

    /// How many may be sent now, and at once: what was due two steps ago and was not sent is not due now.
    var most: Int { max(1, 2 * ((total + RateLease.steps - 1) / RateLease.steps)) }
  }

  /// ns for which a lot is good.
  static let slice = UInt64(RateBucket.slice) * 1000
  /// In how many steps it is let go: commits of some pushes each, and no burst.
  static let steps = 5

  /// Lets go of what is due, and of what is not any more.
  mutating func advance(_ now: UInt64) {
    if lot.released < lot.total {
      let step = min(Int((now - lot.at) / (Self.slice / UInt64(Self.steps))), Self.steps - 1) + 1
      let due = (lot.total * step + Self.steps - 1) / Self.steps
      allowance += due - lot.released
      lot.released = due
      keepMost()
    } else if allowance > 0, now - lot.at > 2 * Self.slice {
      unused += allowance
      allowance = 0
    }
  }

  /// Spends pushes on credit that is being asked for.
  mutating func spend(_ count: Int) {
    allowance -= count
    reserved += count
  }

  /// Takes note of what became of credit: the rest of it may be spent again.
  mutating func reconcile(spent count: Int, sent: Int) {
    // What was spent before the rate held is not known here.
    reserved = max(0, reserved - count)
    allowance += count - sent
    used += sent
    keepMost()
  }

  /// Pushes that were spent have not been sent.
  mutating func giveBack(_ count: Int) {
    unused += count
    used = max(0, used - count)
  }

  /// What to ask now, if anything.
  ///
  /// - Parameters:
  ///   - wanted: pushes that slices could make at once.
  ///   - now: `EventLoop.now`.
  mutating func question(wanted: Int, now: UInt64) -> Question? {
    if wanted == 0 || unused > 0 {
      limitedSince = nil
    } else if allowance == 0 {
      limitedSince = limitedSince ?? now
    }
    guard !isAsking, now >= dueAt else { return nil }
    guard wanted > 0 else { return rest(now) }
    guard wanted > allowance else { return nil }
    // Who could not use all that it was lent asks for little more than it could: others may.
    let usable = used + reserved
    return ask(unused > 0 ? min(wanted - allowance, usable + usable / 4 + 1) : wanted - allowance, now)
  }

  /// What Redis has yet to be told when there is nothing to send any more; `nil` for nothing, or while it is being asked.
  mutating func rest(_ now: UInt64) -> Question? {
    limitedSince = nil
    unused += allowance + lot.total - lot.released
    allowance = 0
    lot.released = lot.total
    return unused > 0 && !isAsking ? ask(0, now) : nil
  }

  private mutating func ask(_ wanted: Int, _ now: UInt64) -> Question {
    defer { (unused, used) = (0, 0) }
    isAsking = true
    dueAt = now + Self.slice
    return Question(wanted: wanted, returned: unused)
  }

  /// Notes the answer of Redis, or that there was none: nobody knows then what was lent or taken back, so it is
  /// neither sent nor given back again.
  mutating func take(_ answer: RateAnswer?, now: UInt64) {
    isAsking = false
    guard let answer else { return }
    unused += lot.total - lot.released
    lot = Lot(total: answer.lent, at: now)
    dueAt = max(dueAt, now + UInt64(answer.wait) * 1000)
    advance(now)
  }

  private mutating func keepMost() {
    guard allowance > lot.most else { return }
    unused += allowance - lot.most
    allowance = lot.most
  }
}
