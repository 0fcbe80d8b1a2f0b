/// What a token is good for.
public enum Scope: String, CaseIterable, Sendable {
  /// Look at everything but secrets.
  case view
  /// Submit campaigns; register devices and users, and put users into segments.
  case submit
  /// Pause, resume, cancel and approve; retry and drop dead jobs; release and purge quarantined devices.
  case operate
  /// Everything, and what nobody else may: forget users, read the audit log.
  case admin
}
