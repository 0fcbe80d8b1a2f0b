/// A permission of an access token.
public enum Scope: String, CaseIterable, Sendable {
  /// Read everything except secrets.
  case view
  /// Submit campaigns, register devices and users, and put users into segments.
  case submit
  /// Pause, resume, cancel and approve campaigns, choose the winning variant, retry and drop dead jobs, release and
  /// purge quarantined devices.
  case operate
  /// Everything, including operations that no other scope allows: erase users, read the audit log.
  case admin
}
