import CampaignStore
import CommandSupport
import PushCore

/// The part of a campaign's report about its rate.
extension CampaignReport {
  /// The rate in pushes per second, calculated from the job and the number of targets; `nil` for no limit, or while the
  /// number of targets is unknown.
  private var perSecond: Double? {
    switch record.delivery.rate {
    case .perSecond(let rate)?: rate
    case .over(let seconds)?: total.map { Double($0.count) / Double(seconds) }
    case .until(let end)?: left.flatMap { end > now ? Double($0) * 1000 / Double(end - now) : nil }
    case nil: nil
    }
  }

  /// Estimated number of targets without an outcome; `nil` before the first sealed slice and after the end.
  private var left: Int? {
    record.times.finishedAt == nil ? total.map { max(0, $0.count - done) } : nil
  }

  /// Whether the campaign will end after the `finishBy` of its job if it continues at its average speed so far.
  private var isLate: Bool {
    guard case .until(let end)? = record.delivery.rate, record.state == .active, let left, left > 0 else {
      return false
    }
    guard end > now else { return true }
    // After a shorter time, the measured speed is not reliable.
    guard let startedAt = record.times.startedAt, now - startedAt >= Self.longEnough else { return false }
    return Double(done) * Double(end - now) < 0.9 * Double(left) * Double(now - startedAt)
  }

  /// Time after the start from which the measured speed is reliable, in ms.
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

  /// The lines about the rate in the text output.
  var rateRows: [(String, String)] {
    guard let rate = record.delivery.rate else { return [] }
    let number = perSecond.map { CampaignRate.format($0 >= 10 ? $0.rounded() : $0) + " per second" }
    switch rate {
    case .perSecond: return [("rate", number ?? "")]
    case .over(let seconds):
      return [("rate", (number.map { $0 + ", " } ?? "") + "over \(DurationText.format(milliseconds: seconds * 1000))")]
    case .until(let end):
      var text = Timestamp.format(milliseconds: end)
      if isLate {
        text += ": will be late at the present speed; start more workers, or raise worker.window"
      } else if record.state == .active, let number {
        text += ": \(number) from now on"
      }
      return [("finish by", text)]
    }
  }
}
