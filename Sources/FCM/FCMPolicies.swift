internal import PushCore

/// Limits that FCM sets for senders: connections, retries and the quota of a project.
///
/// Sources: "Scale FCM requests" (Firebase documentation) for retries, timeouts and the slow start, "Throttling and
/// quotas" for the quota, the Firebase Admin SDKs for Node.js and Java for the streams, and bloomberg/pushiko for age
/// and PINGs.
enum FCMPolicies {
  private static let second: UInt64 = 1_000_000_000

  /// Connections to FCM.
  static var connections: ConnectionPolicy {
    var policy = ConnectionPolicy()
    // FCM allows all streams from the first push on, and does not limit a connection after a rejection.
    policy.start = .fullWindow
    policy.hasUnprovenConnection = false
    policy.growth = .whenBusy
    // FCM ends a connection that has more streams (GOAWAY `exceeded_max_concurrent_streams`).
    policy.maximumStreams = 100
    // FCM ends a connection after about an hour.
    policy.maximumAge = 55 * 60 * second
    // FCM ends a connection at the third PING without a request between the PINGs. Google's own client closes a
    // connection after 90 s without a request.
    policy.maximumPings = 2
    policy.idleClose = 90 * second
    // Google asks for at least 10 s: after this time, FCM's internal calls time out. A shorter wait would cause
    // duplicates.
    policy.minimumAnswerTimeout = 20 * second
    return policy
  }

  /// Retries of pushes to FCM.
  static var retries: RetryBounds {
    var bounds = RetryBounds()
    bounds.minimumDelay = 10_000
    bounds.minimumAfterTooManyRequests = 60_000
    bounds.minimumAfterDoubt = 10_000
    bounds.maximumDelay = 3_600_000
    // With the default configuration, the delays are 10, 40 and 160 s, then 15 minutes: eight attempts in 60 minutes.
    // Google asks senders to give up after this time.
    bounds.serverErrorFactor = 4
    bounds.maximumTime = 3_600_000
    return bounds
  }

  /// Returns the quota of a Firebase project: by default 600,000 messages a minute for all apps of the project
  /// together.
  static func quota(project: String) -> ServiceQuota {
    ServiceQuota(name: "fcm:\(project)", perSecond: 10_000, rampSeconds: 60)
  }
}
