/// One of the two environments of APNs. Tokens, keys and certificates may belong to one of them.
public enum SimulatorEnvironment: String, CaseIterable, Codable, Sendable {
  /// Also called development.
  case sandbox
  case production
}
