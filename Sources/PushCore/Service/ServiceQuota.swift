/// Quota of a push service: a limit for the pushes of all workers together. The service counts pushes per minute.
///
/// Apps whose quotas have the same name share one quota. The fleet begins slowly. It lowers its rate if the service
/// answers that the quota is exceeded (``Disposition/Effect/slowQuota(perMinute:)``).
public struct ServiceQuota: Sendable, Hashable {
  /// Name of the quota, such as `fcm:my-project`: the service's name, a colon, and the service's name of the account or
  /// project. It is part of a key in Redis.
  public var name: String
  /// Limit in pushes per second, above 0: the service's default, unless the configuration sets a rate.
  public var perSecond: Double
  /// When the fleet begins to send, the rate rises linearly from a tenth of the limit to the limit within this number
  /// of seconds. While the fleet sends nothing, the rate falls at the same speed. 0 for no slow start.
  public var rampSeconds: Int

  /// - Parameters:
  ///   - name: name of the quota.
  ///   - perSecond: limit in pushes per second.
  ///   - rampSeconds: duration of the slow start; 0 for none.
  public init(name: String, perSecond: Double, rampSeconds: Int = 0) {
    self.name = name
    self.perSecond = perSecond
    self.rampSeconds = rampSeconds
  }
}
