public import PushCore

/// `apns-push-type`. Source: Apple, "Sending notification requests to APNs".
public enum PushType: String, CaseIterable, Sendable {
  case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, controls, widgets

  /// What the type adds to the bundle id to make the topic.
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

  /// The topic for an app of this bundle id; one that has the suffix already stays as it is.
  public func topic(bundle: String) -> String {
    bundle.hasSuffix(topicSuffix) ? bundle : bundle + topicSuffix
  }

  /// The bundle id in a topic of this type, or in one that is the bundle id already.
  func bundle(of topic: String) -> String {
    topic.hasSuffix(topicSuffix) ? String(topic.dropLast(topicSuffix.count)) : topic
  }

  /// The largest payload in bytes (Apple: 5 KB for VoIP, 4 KB for all else that goes to a device).
  public var maximumPayload: Int { self == .voip ? 5120 : 4096 }

  /// `apns-priority` unless a job says otherwise: APNs' own default, but for background pushes, which must not have it.
  public var defaultPriority: Int { self == .background ? 5 : 10 }

  /// `apns-expiration` unless a job says otherwise. A call or a voice that comes late is worse than none: Apple asks for 0
  /// with push to talk, and for 0 or a few seconds with VoIP.
  public var defaultExpiration: Expiration {
    switch self {
    case .voip, .pushtotalk: .immediate
    default: .unset
    }
  }

  /// Whether Apple describes the type for provider tokens only. Sources: "Creating a location push service extension";
  /// ActivityKit's and WidgetKit's pages on push notifications.
  public var needsToken: Bool {
    switch self {
    case .location, .liveactivity, .controls, .widgets: true
    default: false
    }
  }
}

extension Campaign {
  /// Its `apns-push-type`.
  var apnsType: PushType { PushType(rawValue: message.pushType) ?? .alert }
}
