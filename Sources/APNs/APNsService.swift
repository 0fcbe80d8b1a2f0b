public import PushCore

/// Apple Push Notification service (APNs). Tokens are bytes written in hex; reasons are the names of ``Reason``.
public struct APNsService: PushService {
  /// The longest accepted token, in bytes. Apple documents no length; 32 is usual; 40, 48, 54 and 80 have been
  /// observed.
  public static let maximumLength = 200

  private static let reasons = (0...UInt8.max).map { Array((Reason(rawValue: $0)?.name ?? "").utf8) }

  /// The app; `nil` if it is not known. Without an app, rules that depend on the app are not checked, and nothing can
  /// be sent.
  public var app: AppTraits?

  /// - Parameter app: the app; `nil` if it is not known.
  public init(_ app: AppTraits? = nil) { self.app = app }

  public var name: String { "apns" }
  public var title: String { "APNs" }
  public var tokenForm: String { "hex of 1 to \(Self.maximumLength) bytes" }

  /// Parses hex digits of any case. Ignores white space at both ends, and `<`, `>` and blanks, which old logs put
  /// around tokens.
  public func token(_ text: String) -> DeviceToken? {
    let text = Identifier.trimmed(text)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(32)
    var high: UInt8?
    for character in text.utf8 {
      guard let digit = Hex.value(of: character) else {
        switch character {
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: " "), UInt8(ascii: "\t"): continue
        default: return nil
        }
      }
      if let pending = high {
        bytes.append(pending << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    guard high == nil, bytes.count <= Self.maximumLength else { return nil }
    return DeviceToken(bytes: bytes)
  }

  /// Writes the token in lower-case hex.
  public func writeText(of token: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int {
    Hex.encode(token, to: buffer)
    return 2 * token.count
  }

  public func reasonText(of code: ReasonCode) -> [UInt8] { Self.reasons[Int(code.rawValue)] }

  /// Returns the kind of token for the campaign's push type. A token is valid for one topic, and the push type
  /// determines the topic.
  ///
  /// | `apns-push-type` | topic | kind of token | source of the token |
  /// | --- | --- | --- | --- |
  /// | `alert`, `background`, `mdm` | the app's own | `alert` | UIKit, AppKit or WatchKit; the check-in of MDM |
  /// | `voip` | `.voip` | `voip` | PushKit |
  /// | `complication` | `.complication` | `complication` | PushKit |
  /// | `fileprovider` | `.pushkit.fileprovider` | `fileprovider` | PushKit |
  /// | `location` | `.location-query` | `location` | Core Location |
  /// | `pushtotalk` | `.voip-ptt` | `pushtotalk` | PushToTalk, after the app has joined a channel |
  /// | `controls` | `.push-type.controls` | `controls` | WidgetKit |
  /// | `widgets` | `.push-type.widgets` | `widgets` | WidgetKit |
  /// | `liveactivity`, `event` is `start` | `.push-type.liveactivity` | `liveactivity-start` | ActivityKit, one per app |
  /// | `liveactivity`, any other `event` | the same | `liveactivity` | ActivityKit, one per activity |
  ///
  /// Source: Apple, "Sending notification requests to APNs", "Starting and updating Live Activities with ActivityKit
  /// push notifications".
  public func tokenKind(for campaign: Campaign) -> TokenKind {
    switch campaign.apnsType {
    case .alert, .background, .mdm: .alert
    case .voip: .voip
    case .complication: .complication
    case .fileprovider: .fileprovider
    case .location: .location
    case .pushtotalk: .pushtotalk
    case .controls: .controls
    case .widgets: .widgets
    case .liveactivity: Self.startsActivity(campaign.message.payload) ? .liveActivityStart : .liveActivity
    }
  }

  private static func startsActivity(_ payload: [UInt8]) -> Bool {
    guard let root = try? JSONValue(parsing: payload, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind, case .object(let aps)? = members.value("aps")?.kind,
      case .string("start")? = aps.value("event")?.kind
    else { return false }
    return true
  }
}
