/// Quota of a push service: a limit for the pushes of all workers together. The service counts pushes per minute.
///
/// Apps whose quotas have the same name share one quota. The fleet begins slowly, and sends more slowly after answers
/// that exceed the quota (``Disposition/Effect/slowQuota(perMinute:)``).
public struct ServiceQuota: Sendable, Hashable {
  /// Name of the quota, such as `fcm:my-project`: the service's name, a colon, and the service's name of the account or
  /// project. It is part of a key in Redis.
  public var name: String
  /// Limit in pushes per second, above 0: the service's default, unless the configuration sets a rate.
  public var perSecond: Double
  /// Seconds in which the rate rises linearly from a tenth of the limit to the limit, when the fleet begins to send.
  /// The rate falls at the same speed while the fleet sends nothing. 0 for no slow start.
  public var rampSeconds: Int

  /// - Parameters:
  ///   - name: name of the quota.
  ///   - perSecond: limit in pushes per second.
  ///   - rampSeconds: duration of a slow start.
  public init(name: String, perSecond: Double, rampSeconds: Int = 0) {
    self.name = name
    self.perSecond = perSecond
    self.rampSeconds = rampSeconds
  }
}
