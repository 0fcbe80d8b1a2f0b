import PushCore
import Redis

/// How an app's own backend is, and how much slower its campaigns go by that.
public struct BackendStanding: Sendable, Equatable {
  /// The app's name.
  public var app: String
  /// The share of its rate that its campaigns have: above 0; 1 while it is well.
  public var share: Double
  /// Looks in a row that found it badly.
  public var badLooks: Int
  /// Since when they go slower, in ms since the epoch; `nil` while they don't.
  public var since: Int?
  /// When it was looked at last, in ms since the epoch.
  public var at: Int
  /// Why they go slower.
  public var reason: String?

  /// A backend that is well, unless more is said.
  public init(
    app: String, share: Double = 1, badLooks: Int = 0, since: Int? = nil, at: Int, reason: String? = nil
  ) {
    (self.app, self.share, self.badLooks, self.since, self.at, self.reason) = (app, share, badLooks, since, at, reason)
  }

  /// Whether its campaigns go slower.
  public var isSlowed: Bool { share < 1 }

  /// Whether it says anything still: where nobody looks any more nobody knows how it is.
  public func isCurrent(_ now: Int) -> Bool { now - at < Self.memory }

  /// ms: longer than any time between two looks, and as a housekeeper's death takes.
  public static let memory = 120_000
  /// Bytes of a reason that are kept.
  private static let longestReason = 200

  /// As it is stored: share, bad looks, since (0 for not), at, reason.
  var text: String {
    "\(share) \(badLooks) \(since ?? 0) \(at) \(String(decoding: (reason ?? "").utf8.prefix(Self.longestReason), as: UTF8.self))"
  }

  /// - Parameter text: as stored; `nil` for what nothing of ours has written.
  init?(app: String, text: String) {
    let words = text.split(separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
    guard words.count == 5, let share = Double(words[0]), share > 0, share <= 1, let badLooks = Int(words[1]),
      let since = Int(words[2]), let at = Int(words[3])
    else { return nil }
    self.init(
      app: app, share: share, badLooks: badLooks, since: since == 0 ? nil : since, at: at,
      reason: words[4].isEmpty ? nil : String(words[4]))
  }
}

/// What one worker finds out of backends for all.
extension Limits {
  /// How backends are, by their apps: those that were ever looked at.
  public func backends() async throws -> [String: BackendStanding] {
    var pipeline = RedisPipeline()
    pipeline.append("HGETALL", keys.backends)
    let pairs = try await run(pipeline)[0]
    var standings: [String: BackendStanding] = [:]
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      let app = pairs[index].string ?? ""
      standings[app] = BackendStanding(app: app, text: pairs[index + 1].string ?? "")
    }
    return standings
  }

  /// Takes note of how one is.
  public func keep(_ standing: BackendStanding) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.backends, standing.app, standing.text)
    _ = try await run(pipeline)
  }
}
