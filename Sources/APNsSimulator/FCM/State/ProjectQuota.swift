internal import Synchronization

/// The quota of each project: the count of its messages in the current minute (Google, "Throttling and quotas"). The
/// minute begins with the project's first request. Shared by all event loops.
final class ProjectQuota: Sendable {
  private struct Minute {
    var begins: UInt64
    var count = 0
  }

  private let minutes = Mutex<[String: Minute]>([:])

  /// Counts a request and returns whether it is within the limit. A request above the limit is not counted.
  ///
  /// - Parameters:
  ///   - limit: maximum number of requests in a period; 0 for no limit.
  ///   - length: length of the period in milliseconds, by default a minute.
  ///   - now: milliseconds on any monotonic clock.
  func take(_ project: String, limit: Int, length: UInt64, now: UInt64) -> Bool {
    minutes.withLock { minutes in
      var minute = minutes[project] ?? Minute(begins: now)
      if now - minute.begins >= length {
        minute.begins += (now - minute.begins) / length * length
        minute.count = 0
      }
      let isAllowed = limit == 0 || minute.count < limit
      if isAllowed { minute.count += 1 }
      minutes[project] = minute
      return isAllowed
    }
  }

  /// Removes one request from the count, because answers of 429 and 5xx do not count.
  func giveBack(_ project: String) {
    minutes.withLock { minutes in
      if let minute = minutes[project], minute.count > 0 { minutes[project]?.count -= 1 }
    }
  }

  func removeAll() { minutes.withLock { $0.removeAll() } }
}
