/// One of the two worlds of APNs; tokens, keys and certificates may belong to one of them.
public enum SimulatorEnvironment: String, CaseIterable, Codable, Sendable {
  /// Also called development.
  case sandbox
  case production
}
