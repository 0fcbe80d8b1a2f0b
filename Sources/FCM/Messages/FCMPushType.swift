/// Push types of a job for FCM. FCM has no such field: the type only determines what the message must contain.
enum FCMPushType: String, CaseIterable {
  /// A message that shows a notification.
  case alert
  /// A message with data only, which the app handles.
  case background

  /// Default of a job's `priority`. Android lowers the priority of messages to an app that gets `HIGH` messages and
  /// shows no notification for them. Source: Firebase, "Set and manage Android message priority".
  var defaultPriority: Int { self == .alert ? 10 : 5 }
}
