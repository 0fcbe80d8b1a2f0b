internal import PushCore
public import ServiceTools

/// The rules for pushes to APNs. The commands `submit`, `send` and `lint` and the workers all use this table.
///
/// A rule has the severity error if Apple documents it, or if a push that breaks it certainly can't work. A rule that
/// was only observed or inferred has the severity warning.
public enum APNsRule: String, LintRule {
  // Headers.
  case backgroundPriority = "background-priority"
  case deliveryHabit = "delivery-habit"
  case expirationPast = "expiration-past"
  case expirationLong = "expiration-long"
  case collapseSize = "collapse-size"
  case tokenOnly = "token-only"
  case certificateTopic = "certificate-topic"
  case topicSuffix = "topic-suffix"
  case topicLooksSuffixed = "topic-looks-suffixed"
  case topicType = "topic-type"
  case managementTopic = "management-topic"

  // The payload as a whole.
  case payloadSize = "payload-size"
  case payloadRoom = "payload-room"
  case walletPayload = "wallet-payload"
  case websitePayload = "website-payload"
  case managementPayload = "management-payload"
  case backgroundVisible = "background-visible"
  case backgroundSilent = "background-silent"
  case alertSilent = "alert-silent"
  case alertEmpty = "alert-empty"
  case foreignRequest = "foreign-request"
  case contentChanged = "content-changed"
  case keyOfOtherType = "key-of-other-type"

  // Live Activities and broadcasts.
  case activityEvent = "activity-event"
  case activityTimestamp = "activity-timestamp"
  case activityStart = "activity-start"
  case activityUpdate = "activity-update"
  case activityEnd = "activity-end"
  case activityPriority = "activity-priority"
  case activitySound = "activity-sound"
  case activityData = "activity-data"
  case activitySeconds = "activity-seconds"
  case activityDates = "activity-dates"
  case activityInput = "activity-input"
  case broadcastType = "broadcast-type"
  case broadcastStart = "broadcast-start"
  case broadcastCollapse = "broadcast-collapse"
  case broadcastStorage = "broadcast-storage"

  // Keys and values.
  case apsType = "aps-type"
  case apsRange = "aps-range"
  case apsFlag = "aps-flag"
  case apsUnknown = "aps-unknown"
  case apsCustom = "aps-custom"
  case apsOutside = "aps-outside"
  case apsBeside = "aps-beside"
  case headerInside = "header-inside"
  case deprecated = "deprecated"
  case mutableWithoutAlert = "mutable-without-alert"
  case localizationTwice = "localization-twice"
  case localizationArguments = "localization-arguments"
  case null = "null"
  case duplicateKey = "duplicate-key"
  case variantSame = "variant-same"

  /// Remains of settings for the binary interface of APNs, which Apple has shut down.
  case legacy = "legacy"
  /// Fields of a job outside the payload.
  case job = "job"
}

extension APNsRule {
  public var entry: Entry { headers ?? payload ?? activity ?? keys }

  private var headers: Entry? {
    switch self {
    case .backgroundPriority: (.error, "A background push must not have priority 10.", Source.sending)
    case .deliveryHabit:
      (.warning, "Calls and voice are sent immediately or not at all: priority 10, expiration 0.", Source.calls)
    case .expirationPast: (.error, "The expiration is not in the past.", Source.sending)
    case .expirationLong: (.warning, "APNs stores a push for 30 days at most.", Source.sending)
    case .collapseSize: (.error, "A collapse id has at most 64 bytes of UTF-8.", Source.sending)
    case .tokenOnly:
      (.error, "Location, Live Activity, control and widget pushes need a provider token.", Source.types)
    case .certificateTopic: (.error, "A certificate is valid only for the topics that it lists.", Source.certificate)
    case .topicSuffix:
      (.error, "The topic has the suffix of the push type; the topic of a broadcast has no suffix.", Source.sending)
    case .topicLooksSuffixed:
      (.warning, "The configured topic is the bundle id, without the suffix of a push type.", Source.sending)
    case .topicType: (.error, "Passes and websites accept only alert pushes.", Source.other)
    case .managementTopic:
      (.warning, "The topic of an MDM push is the UID of the MDM push certificate.", Source.sending)
    default: nil
    }
  }

  private var payload: Entry? {
    switch self {
    case .payloadSize:
      (.error, "A payload has at most 4096 bytes; for voip and broadcasts 5120.", Source.payload)
    case .payloadRoom: (.warning, "A payload has room for the longest possible values.", Source.payload)
    case .walletPayload: (.error, "The payload for a pass is {}.", Source.wallet)
    case .websitePayload:
      (.error, "A Safari push has an alert with title and body, and url-args.", Source.safari)
    case .managementPayload: (.error, "An MDM push is {\"mdm\": PushMagic}, without aps.", Source.management)
    case .backgroundVisible: (.error, "A background push has no alert, badge or sound.", Source.background)
    case .backgroundSilent: (.error, "A background push has content-available 1.", Source.background)
    case .alertSilent:
      (.error, "A push with content-available alone is a background push.", Source.background)
    case .alertEmpty: (.error, "An alert has a text, a sound or a badge.", Source.payload)
    case .foreignRequest:
      (.error, "A payload has the format of APNs, not of another product.", Source.payload)
    case .contentChanged: (.error, "A push for controls and widgets has content-changed true.", Source.widgets)
    case .keyOfOtherType: (.warning, "A key belongs to the push type.", Source.payload)
    default: nil
    }
  }

  private var activity: Entry? {
    switch self {
    case .activityEvent: (.error, "A Live Activity push has an event: start, update or end.", Source.activities)
    case .activityTimestamp: (.error, "A Live Activity push has a timestamp.", Source.activities)
    case .activityStart:
      (.error, "A start has attributes-type, attributes, content-state and alert.", Source.activities)
    case .activityUpdate: (.error, "An update has content-state.", Source.activities)
    case .activityEnd: (.warning, "An end has the final content-state.", Source.activities)
    case .activityPriority: (.warning, "The priority of a Live Activity push is 5 or 10.", Source.activities)
    case .activitySound: (.warning, "The sound of a Live Activity push is in its alert.", Source.activities)
    case .activityData:
      (.warning, "Attributes and content-state of an activity have together at most 4096 bytes.", Source.activities)
    case .activitySeconds: (.error, "Times in aps are seconds since 1970.", Source.activities)
    case .activityDates:
      (
        .warning,
        "stale-date is at most 12 hours after timestamp, and dismissal-date at most 4 hours after the end.",
        Source.activities
      )
    case .activityInput: (.warning, "input-push-token and input-push-channel need event start.", Source.activities)
    case .broadcastType: (.error, "A channel carries Live Activity pushes only.", Source.broadcast)
    case .broadcastCollapse: (.error, "A broadcast has no collapse id.", Source.broadcast)
    case .broadcastStorage:
      (
        .warning, "Only a channel that stores its latest message accepts an expiration, of at most 8 hours.",
        Source.broadcast
      )
    case .broadcastStart: (.error, "A broadcast updates or ends activities. It can't start them.", Source.broadcast)
    default: nil
    }
  }

  private var keys: Entry {
    switch self {
    case .apsType: (.error, "Apple's keys have the documented types.", Source.payload)
    case .apsRange: (.error, "Apple's keys have documented values.", Source.payload)
    case .apsFlag: (.warning, "A flag is the number 1, or is left out.", Source.payload)
    case .apsUnknown: (.error, "The keys of aps, alert and sound are spelt as documented.", Source.payload)
    case .apsCustom: (.warning, "An app's own keys are beside aps: inside aps they are ignored.", Source.payload)
    case .apsOutside: (.error, "Apple's keys are inside aps.", Source.payload)
    case .apsBeside: (.warning, "alert, badge and sound beside aps are the app's own keys.", Source.payload)
    case .headerInside: (.warning, "Headers are not part of the payload.", Source.sending)
    case .deprecated: (.warning, "Current systems read the key.", Source.payload)
    case .mutableWithoutAlert: (.warning, "mutable-content needs an alert.", Source.payload)
    case .localizationTwice: (.warning, "A localized key replaces the plain key.", Source.payload)
    case .localizationArguments: (.warning, "Arguments need the key of a localised string.", Source.payload)
    case .null: (.warning, "null is not a valid value: omit a key that has no value.", Source.payload)
    case .duplicateKey: Self.entry(.duplicateKey)
    case .variantSame: (.warning, "Variants have different content.", "Carillon: deploy/guide/staged-delivery.md")
    case .legacy: (.error, "Apple removed the binary interface on 31 March 2021.", Source.legacy)
    default: Self.entry(.job)
    }
  }

  /// Pages of Apple.
  private enum Source {
    static let sending = "Apple, “Sending notification requests to APNs”"
    static let payload = "Apple, “Generating a remote notification”"
    static let background = "Apple, “Pushing background updates to your App”"
    static let certificate = "Apple, “Establishing a certificate-based connection to APNs”"
    static let activities = "Apple, “Starting and updating Live Activities with ActivityKit push notifications”"
    static let broadcast = "Apple, “Sending broadcast push notification requests to APNs”"
    static let widgets = "Apple, “Updating widgets with WidgetKit push notifications”"
    static let calls = "Apple, “Responding to VoIP Notifications from PushKit”, “Creating a Push to Talk app”"
    static let types =
      "Apple, “Creating a location push service extension”, and the push pages of ActivityKit and WidgetKit"
    static let wallet = "Apple, “Adding a Web Service to Update Passes”"
    static let safari = "Apple (archive), “Configuring Safari Push Notifications”"
    static let other =
      "Apple, “Adding a Web Service to Update Passes”; (archive) “Configuring Safari Push Notifications”"
    static let management = "Apple, “Sending notification requests to APNs”; MDM protocol, “Sending push notifications”"
    static let legacy = "Apple (archive), “Binary Provider API”; Apple's notice of its end"
  }
}
