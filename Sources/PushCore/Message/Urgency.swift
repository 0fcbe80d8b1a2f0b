/// Urgency of a push: `urgency` of a job. Each service maps the urgency to its own priority.
public enum Urgency: String, CaseIterable, Sendable {
  /// Deliver immediately, and wake the device.
  case high
  /// Deliver in a way that saves the device's power.
  case normal
  /// Deliver when the device is awake for another reason.
  case low
}
