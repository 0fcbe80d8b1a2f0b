public import PushCore

/// Type of a push: the header `apns-push-type`. Source: Apple, "Sending notification requests to APNs".
public enum PushType: String, CaseIterable, Sendable {
  case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, controls, widgets

  /// Suffix that the type adds to the bundle id to form the topic.
  public var topicSuffix: String {
    switch self {
    case .alert, .background, .mdm: ""
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .location: ".location-query"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .controls: ".push-type.controls"
    case .widgets: ".push-type.widgets"
    }
  }

  /// Returns the topic for an app with this bundle id. If the bundle id already has the suffix, it is returned
  /// unchanged.
  public func topic(bundle: String) -> String {
    bundle.hasSuffix(topicSuffix) ? bundle : bundle + topicSuffix
  }

  /// Returns the bundle id in a topic of this type; a topic without the suffix is already the bundle id.
  func bundle(of topic: String) -> String {
    topic.hasSuffix(topicSuffix) ? String(topic.dropLast(topicSuffix.count)) : topic
  }

  /// The largest payload in bytes (Apple: 5 KB for VoIP, 4 KB for all other pushes to a device).
  public var maximumPayload: Int { self == .voip ? 5120 : 4096 }

  /// Default of `apns-priority`: APNs' own default, 10, except for background pushes, which must not use 10.
  public var defaultPriority: Int { self == .background ? 5 : 10 }

  /// Default of `apns-expiration`. Apple requires 0 for push to talk, and 0 or a few seconds for VoIP, because a late
  /// call or voice message is useless.
  public var defaultExpiration: Expiration {
    switch self {
    case .voip, .pushtotalk: .immediate
    default: .unset
    }
  }

  /// Whether the app must authenticate with a provider token, because Apple describes the type only for provider
  /// tokens. Sources: "Creating a location push service extension"; ActivityKit's and WidgetKit's pages on push
  /// notifications.
  public var needsToken: Bool {
    switch self {
    case .location, .liveactivity, .controls, .widgets: true
    default: false
    }
  }
}

extension Campaign {
  /// The `apns-push-type` of the campaign.
  var apnsType: PushType { PushType(rawValue: message.pushType) ?? .alert }
}
