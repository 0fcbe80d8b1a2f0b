/// State of the FCM side that all event loops share. Each part is thread-safe.
final class FCMState: Sendable {
  let accounts: [FCMConfiguration.Account]
  let assertions: AssertionVerifier
  let tokens = AccessTokens()
  let devices = FCMDevices()
  let quota = ProjectQuota()

  init(_ configuration: FCMConfiguration) throws {
    accounts = configuration.accounts
    assertions = try AssertionVerifier(configuration.accounts)
  }

  /// Removes the messages and the quotas. Access tokens stay valid.
  ///
  /// - Parameter registrations: whether the registrations are removed too.
  func reset(registrations: Bool) {
    devices.reset(registrations: registrations)
    quota.removeAll()
  }
}
