import PushCore
import Redis

/// The health of an app's own backend, and how much Carillon slows down the app's campaigns because of it.
public struct BackendStatus: Sendable, Equatable {
  /// The app's name.
  public var app: String
  /// Share of the rate that the app's campaigns get: above 0; 1 while the backend is healthy.
  public var share: Double
  /// Number of checks in a row that found the backend unhealthy.
  public var badChecks: Int
  /// Since when the campaigns are throttled, in ms since the epoch; `nil` if they are not.
  public var since: Int?
  /// Time of the last check, in ms since the epoch.
  public var at: Int
  /// Reason for the throttling.
  public var reason: String?

  /// Creates a status; by default the backend is healthy.
  public init(
    app: String, share: Double = 1, badChecks: Int = 0, since: Int? = nil, at: Int, reason: String? = nil
  ) {
    (self.app, self.share, self.badChecks, self.since, self.at, self.reason) = (
      app, share, badChecks, since, at, reason
    )
  }

  /// Whether the app's campaigns are throttled.
  public var isSlowed: Bool { share < 1 }

  /// Returns whether the status is current. Without recent checks, the health of the backend is unknown.
  public func isCurrent(_ now: Int) -> Bool { now - at < Self.memory }

  /// Time in ms for which a check is valid. It is longer than the interval between two checks, and longer than the time
  /// until another worker replaces a dead maintenance leader.
  public static let memory = 120_000
  /// Largest stored size of a reason, in bytes.
  private static let longestReason = 200

  /// Stored text: share, bad checks, start of the throttling (0 if not throttled), time of the check, reason.
  var text: String {
    "\(share) \(badChecks) \(since ?? 0) \(at) \(String(decoding: (reason ?? "").utf8.prefix(Self.longestReason), as: UTF8.self))"
  }

  /// Creates a status from its stored text.
  /// - Parameter text: the stored text; the result is `nil` if Carillon did not write it.
  init?(app: String, text: String) {
    let words = text.split(separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
    guard words.count == 5, let share = Double(words[0]), share > 0, share <= 1, let badChecks = Int(words[1]),
      let since = Int(words[2]), let at = Int(words[3])
    else { return nil }
    self.init(
      app: app, share: share, badChecks: badChecks, since: since == 0 ? nil : since, at: at,
      reason: words[4].isEmpty ? nil : String(words[4]))
  }
}

/// The results of the health checks of apps' backends, which the maintenance leader makes and all workers use.
extension Limits {
  /// Returns the status of all backends that were ever checked, by app.
  public func backends() async throws -> [String: BackendStatus] {
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.backends)
    let pairs = try await run(pipeline)[0]
    var statuses: [String: BackendStatus] = [:]
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      let app = pairs[index].string ?? ""
      statuses[app] = BackendStatus(app: app, text: pairs[index + 1].string ?? "")
    }
    return statuses
  }

  /// Stores the status of a backend.
  public func save(_ status: BackendStatus) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.backends, status.app, status.text)
    _ = try await run(pipeline)
  }
}
