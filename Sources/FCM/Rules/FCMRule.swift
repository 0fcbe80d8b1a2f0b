internal import PushCore
public import ServiceTools

/// The rules for pushes to FCM. The commands `submit`, `send` and `lint` and the workers all use this table.
///
/// A rule has the severity error if FCM answers a message that breaks it with 400, or if such a message certainly can't
/// have the effect that the job describes.
public enum FCMRule: String, LintRule {
  // Fields of the job.
  case expirationPast = "expiration-past"
  case expirationLong = "expiration-long"
  case backgroundPriority = "background-priority"

  // The message as a whole.
  case wrongForm = "wrong-form"
  case targetInside = "target-inside"
  case outputOnly = "output-only"
  case androidTwice = "android-twice"
  case androidKind = "android-kind"
  case alertEmpty = "alert-empty"
  case backgroundVisible = "background-visible"
  case backgroundEmpty = "background-empty"
  case payloadSize = "payload-size"
  case payloadRoom = "payload-room"
  case collapseIgnored = "collapse-ignored"

  // Fields and values.
  case unknownField = "unknown-field"
  case wrongType = "wrong-type"
  case unknownValue = "unknown-value"
  case dataValue = "data-value"
  case dataKey = "data-key"
  case lifetime = "lifetime"
  case duration = "duration"
  case color = "color"
  case time = "time"
  case lightSettings = "light-settings"
  case localizationArguments = "localization-arguments"
  case analyticsLabel = "analytics-label"
  case image = "image"
  case null = "null"
  case duplicateKey = "duplicate-key"
  case variantSame = "variant-same"

  // Other platforms.
  case otherPlatform = "other-platform"
  case appleData = "apple-data"
  case appleSize = "apple-size"
  case webLifetime = "web-lifetime"
  case webLink = "web-link"

  /// Fields of a job outside the payload.
  case job = "job"
}

extension FCMRule {
  public var entry: Entry { message ?? fields }

  private var message: Entry? {
    switch self {
    case .expirationPast: (.error, "The expiration is not in the past.", Source.lifetime)
    case .expirationLong: (.warning, "FCM stores a message for 28 days at most.", Source.lifetime)
    case .backgroundPriority:
      (.warning, "A message with high priority shows something to the user.", Source.priority)
    case .wrongForm:
      (.error, "A payload is a message of FCM, not a request or a payload of another service.", Source.message)
    case .targetInside:
      (.error, "The payload has no token, fid, topic or condition: Carillon adds the target.", Source.message)
    case .outputOnly: (.error, "The payload has no name: FCM chooses it.", Source.message)
    case .androidTwice: (.error, "A message has android or android_v2, not both.", Source.message)
    case .androidKind:
      (.error, "android_v2 has remote_notification or background_sync, and only one of them.", Source.message)
    case .alertEmpty: (.error, "An alert has a notification with a text or an image.", Source.kinds)
    case .backgroundVisible: (.error, "A background push has no notification.", Source.kinds)
    case .backgroundEmpty: (.error, "A background push has data.", Source.kinds)
    case .payloadSize: (.error, "Keys, values and texts have at most 4096 bytes.", Source.kinds)
    case .payloadRoom: (.warning, "A message has room for the longest possible values.", Source.kinds)
    case .collapseIgnored: (.warning, "A notification is collapsed by the app, not by a collapse key.", Source.kinds)
    default: nil
    }
  }

  private var fields: Entry {
    switch self {
    case .unknownField: (.error, "FCM documents all fields of the message.", Source.message)
    case .wrongType: (.error, "A field has the documented type.", Source.message)
    case .unknownValue: (.error, "A field has one of its documented values.", Source.message)
    case .dataValue: (.error, "The values of data are strings.", Source.message)
    case .dataKey:
      (.error, "The keys from and message_type, and keys that begin with google or gcm, are reserved.", Source.message)
    case .lifetime: (.error, "A ttl is 0s to 2419200s.", Source.message)
    case .duration: (.error, "A duration is a number of seconds with s, such as 3.5s.", Source.message)
    case .color: (.error, "A colour is #rrggbb.", Source.message)
    case .time: (.error, "A time is in the form of RFC 3339, in UTC.", Source.message)
    case .lightSettings:
      (.error, "light_settings has a color, light_on_duration and light_off_duration.", Source.message)
    case .localizationArguments: (.error, "Arguments need the key of a localized text.", Source.message)
    case .analyticsLabel: (.error, "An analytics label is 1 to 50 of a-z A-Z 0-9 - _ . ~ %.", Source.message)
    case .image: (.warning, "An image is the URL of a picture that devices can load.", Source.message)
    case .null: (.warning, "null is not a value: omit a field that has no value.", Source.message)
    case .variantSame: (.warning, "Variants have different content.", "Carillon: deploy/guide/staged-delivery.md")
    case .otherPlatform:
      (.warning, "A message is for Android devices.", "Carillon: deploy/guide/android.md")
    case .appleData:
      (.error, "A message that shows nothing on Apple devices has apns-priority 5.", Source.message)
    case .appleSize: (.error, "The payload for APNs has at most 4096 bytes.", Source.message)
    case .webLifetime: (.error, "The TTL of a web push is a whole number of seconds.", Source.message)
    case .webLink: (.error, "The link of a web push begins with https.", Source.message)
    case .duplicateKey: Self.entry(.duplicateKey)
    default: Self.entry(.job)
    }
  }

  /// Pages of Google.
  private enum Source {
    static let message = "Firebase, REST resource projects.messages (FCM HTTP v1)"
    static let kinds = "Firebase, “About FCM messages”"
    static let lifetime = "Firebase, “Set the lifespan of a message”"
    static let priority = "Firebase, “Set and manage Android message priority”"
  }
}
