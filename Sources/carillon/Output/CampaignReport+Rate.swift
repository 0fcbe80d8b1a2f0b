import CampaignStore
import CommandSupport
import PushCore

/// How fast a campaign may be sent, as commands show it.
extension CampaignReport {
  /// Pushes a second, as they follow from what the job says and from the targets, as far as these are known; `nil` while
  /// nobody can say, and where it goes as fast as it can.
  private var perSecond: Double? {
    switch record.delivery.rate {
    case .perSecond(let rate)?: rate
    case .over(let seconds)?: total.map { Double($0.count) / Double(seconds) }
    case .until(let end)?: left.flatMap { end > now ? Double($0) * 1000 / Double(end - now) : nil }
    case nil: nil
    }
  }

  /// Targets without an outcome, as far as anybody can say; `nil` for one that has ended, or is only beginning.
  private var left: Int? {
    record.times.finishedAt == nil ? total.map { max(0, $0.count - done) } : nil
  }

  /// Whether it will not have been sent when its job wants it to be, going on as it has so far.
  private var isLate: Bool {
    guard case .until(let end)? = record.delivery.rate, record.state == .active, let left, left > 0 else {
      return false
    }
    guard end > now else { return true }
    // Before that its speed says nothing.
    guard let startedAt = record.times.startedAt, now - startedAt >= Self.longEnough else { return false }
    return Double(done) * Double(end - now) < 0.9 * Double(left) * Double(now - startedAt)
  }

  /// ms.
  private static let longEnough = 10_000

  func writeRate(to json: inout JSONWriter) {
    if let perSecond { json.member("rate", perSecond) } else { json.member("rate", Int?.none) }
    switch record.delivery.rate {
    case .perSecond?, nil: break
    case .over(let seconds)?: json.member("spread", DurationText.format(milliseconds: seconds * 1000))
    case .until(let end)?:
      json.member("finishBy", Timestamp.format(milliseconds: end))
      json.member("isLate", isLate)
    }
  }

  /// For people.
  var rateRows: [(String, String)] {
    guard let rate = record.delivery.rate else { return [] }
    let number = perSecond.map { CampaignRate.format($0 >= 10 ? $0.rounded() : $0) + " a second" }
    switch rate {
    case .perSecond: return [("rate", number ?? "")]
    case .over(let seconds):
      return [("rate", (number.map { $0 + ", " } ?? "") + "over \(DurationText.format(milliseconds: seconds * 1000))")]
    case .until(let end):
      var text = Timestamp.format(milliseconds: end)
      if isLate {
        text += ": it will be late, at the speed that it had so far; start more workers, or raise worker.window"
      } else if record.state == .active, let number {
        text += ": \(number) from now on"
      }
      return [("finish by", text)]
    }
  }
}
