/// The values of `apns-push-type`, with the size limit and the topic suffix of each.
///
/// Source: Apple, "Sending notification requests to APNs"; the topic is the bundle identifier with the suffix.
enum PushType: UInt8, CaseIterable {
  case alert, background, complication, controls, fileprovider, liveactivity, location, mdm, pushtotalk, voip, widgets

  /// - Returns: `nil` if the value is not a push type.
  init?(_ value: UnsafeRawBufferPointer) {
    switch value.count {
    case 3 where value.matches("mdm"): self = .mdm
    case 4 where value.matches("voip"): self = .voip
    case 5 where value.matches("alert"): self = .alert
    case 7 where value.matches("widgets"): self = .widgets
    case 8 where value.matches("location"): self = .location
    case 8 where value.matches("controls"): self = .controls
    case 10 where value.matches("background"): self = .background
    case 10 where value.matches("pushtotalk"): self = .pushtotalk
    case 12 where value.matches("complication"): self = .complication
    case 12 where value.matches("fileprovider"): self = .fileprovider
    case 12 where value.matches("liveactivity"): self = .liveactivity
    default: return nil
    }
  }

  /// Limit of the body in bytes for all types except `voip`, and for requests without the header.
  static let usualLimit: Int32 = 4096

  /// Limit of the body in bytes.
  var payloadLimit: Int32 { self == .voip ? 5120 : Self.usualLimit }

  private static let suffixes: [(type: PushType, text: [UInt8])] = [
    (.complication, Array(".complication".utf8)), (.controls, Array(".push-type.controls".utf8)),
    (.fileprovider, Array(".pushkit.fileprovider".utf8)), (.liveactivity, Array(".push-type.liveactivity".utf8)),
    (.location, Array(".location-query".utf8)), (.pushtotalk, Array(".voip-ptt".utf8)), (.voip, Array(".voip".utf8)),
    (.widgets, Array(".push-type.widgets".utf8)),
  ]

  private static let management = Array("com.apple.mgmt.".utf8)

  /// Returns whether `topic` has the suffix of this type, and not the suffix of another type.
  func fits(_ topic: [UInt8]) -> Bool {
    if self == .mdm { return topic.starts(with: Self.management) }
    let suffixed = Self.suffixes.first { Self.ends(topic, with: $0.text) }?.type
    return Self.suffixes.contains { $0.type == self } ? suffixed == self : suffixed == nil
  }

  /// Returns `topic` without the suffix of any type.
  static func bundle(of topic: [UInt8]) -> [UInt8] {
    guard let suffix = suffixes.first(where: { ends(topic, with: $0.text) }) else { return topic }
    return Array(topic.dropLast(suffix.text.count))
  }

  private static func ends(_ topic: [UInt8], with suffix: [UInt8]) -> Bool {
    topic.count > suffix.count && topic.suffix(suffix.count).elementsEqual(suffix)
  }
}
