/// One registration token or Firebase Installation ID in the simulator, with the answer to messages to it.
public struct SimulatedRegistration: Equatable, Sendable {
  /// The result of messages to the target.
  public enum State: String, CaseIterable, Codable, Sendable {
    /// Accepted.
    case registered
    /// The next message is accepted, and then the target is unregistered. FCM detects an uninstall when a delivery
    /// fails.
    case uninstalled
    /// 404 `UNREGISTERED`.
    case unregistered
    /// 400 `INVALID_ARGUMENT` that names the token.
    case malformed
    /// 403 `SENDER_ID_MISMATCH`.
    case otherProject
    /// 401 `THIRD_PARTY_AUTH_ERROR`, as for an iOS device without a valid APNs key of its app.
    case thirdPartyAuth
  }

  /// The registration token or the installation id.
  public var target: String
  public var state: State
  /// The only project of the target; `nil` for any. Messages from another project get 403 `SENDER_ID_MISMATCH`.
  public var project: String?
  /// The app's package name, which `restricted_package_name` must match; `nil` for any.
  public var package: String?

  /// - Parameters:
  ///   - target: the registration token or the installation id.
  ///   - state: the result of messages to the target.
  ///   - project: the only project of the target, or `nil` for any.
  ///   - package: the app's package name, or `nil` for any.
  public init(_ target: String, state: State = .registered, project: String? = nil, package: String? = nil) {
    self.target = target
    self.state = state
    self.project = project
    self.package = package
  }
}
