/// Field of a service's own object in a job.
public struct ServiceField: Sendable {
  /// Name of the field: `priority`.
  public let name: String
  /// JSON Schema of the field's value, without references.
  public let schema: String

  /// Creates an instance with these values.
  public init(_ name: String, schema: String) { (self.name, self.schema) = (name, schema) }
}

/// Places in a service's payload where Carillon writes values that differ from push to push.
public struct PayloadPlaces: Sendable {
  /// Names on the path to the badge count; `nil` if the service has none. A text such as `"+1"` at this place
  /// increments the badge.
  public let badge: [String]?
  /// Names on the path to the object that gets `uniqueKey` and `campaignKey`; empty for the payload itself.
  public let keys: [String]

  /// Creates an instance with these values.
  public init(badge: [String]?, keys: [String] = []) { (self.badge, self.keys) = (badge, keys) }
}
