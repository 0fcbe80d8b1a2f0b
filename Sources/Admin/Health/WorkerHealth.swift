import CampaignStore
import PushCore
public import PushWorker

/// Readiness of a worker, with the reasons if the worker is not ready. Pure.
public struct WorkerHealth: Sendable, Equatable {
  /// The result of one check.
  public struct Check: Sendable, Equatable {
    public var name: String
    /// The problem; `nil` if the check succeeded.
    public var reason: String?
    /// Whether the problem makes the worker not ready.
    public var isFatal: Bool
  }

  public var checks: [Check]

  /// Maximum time in ns since the last heartbeat that reached Redis. A worker sends a heartbeat at least every 2.5 s,
  /// so two heartbeats may fail.
  private static let timeout: UInt64 = 8_000_000_000

  public var isReady: Bool { !checks.contains { $0.isFatal && $0.reason != nil } }

  /// Runs the checks.
  ///
  /// - Parameters:
  ///   - worker: the values of the worker; `nil` before the worker starts.
  ///   - obstacle: the reason why the worker can't start, if known.
  public init(_ worker: WorkerMetrics?, obstacle: String?) {
    guard let worker else {
      checks = [
        Check(name: "started", reason: obstacle ?? "the worker waits for its first connection to Redis", isFatal: true)
      ]
      return
    }
    var redis: String?
    if worker.silence ?? .max > Self.timeout {
      let since = worker.silence.map { " for \($0 / 1_000_000_000) s" } ?? " yet"
      redis = "Redis has accepted no heartbeat\(since)" + (worker.heartbeatError.map { ": \($0)" } ?? "")
    }
    checks = [
      Check(name: "redis", reason: redis, isFatal: true),
      Check(
        name: "listed", reason: worker.isListed || redis != nil ? nil : "the worker is not in the list of workers yet",
        isFatal: true),
      Check(
        name: "draining", reason: worker.isStopping ? "the worker is stopping and takes no new work" : nil,
        isFatal: true),
      Check(
        name: "store",
        reason: worker.isStoreLocked ? "no campaign starts: the store is being repartitioned" : nil,
        isFatal: false),
    ]
    // The worker can send pushes while at least one credential is valid. The metrics report each stopped credential.
    let isUseless = worker.credentials.allSatisfy { $0.state.stopped != nil }
    for credential in worker.credentials {
      checks.append(
        Check(
          name: "credential \(credential.state.apps.joined(separator: ", ")) (\(credential.service))",
          reason: credential.state.stopped, isFatal: isUseless))
    }
  }

  /// The checks as JSON: `{"ready":…,"checks":[{"name":…,"ok":…,"reason":…}]}`.
  var json: String {
    JSONWriter.object { json in
      json.member("ready", isReady)
      json.objects("checks", checks) { json, check in
        json.member("name", check.name)
        json.member("ok", check.reason == nil)
        json.member("reason", check.reason)
      }
    }
  }
}
