/// A push service, as those see it who keep its tokens and what it said of them: they ask this and know nothing of it
/// themselves.
public protocol PushService: Sendable {
  /// Its name in configurations, device files and Redis: a ``PlainName``.
  var name: String { get }
  /// What the text of a token is, for messages: "hex of 1 to 200 bytes".
  var tokenForm: String { get }

  /// The token that a text stands for, in any of the forms in which it is written; `nil` when it stands for none.
  func token(_ text: String) -> DeviceToken?

  /// Writes a token's canonical text: the one form under which other programs find it, and by which it has its partition.
  ///
  /// Called for every push of a campaign that keeps all results, so it allocates nothing. It writes something of any
  /// bytes: the only target of a campaign to a channel is no token.
  ///
  /// - Parameters:
  ///   - token: 1 to ``DeviceToken/maximumLength`` bytes.
  ///   - buffer: room for twice as many bytes as the token has; no text is longer.
  /// - Returns: how many bytes were written.
  func writeText(of token: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int

  /// The service's word for a reason, in UTF-8 without blanks; nothing for `none`, for `other`, and for a code that it doesn't know.
  ///
  /// Called for every push that was refused: the answer is to come out of a table.
  func reasonText(of code: ReasonCode) -> [UInt8]

  /// The kind of token that a campaign goes to.
  func tokenKind(for campaign: Campaign) -> TokenKind
}

extension PushService {
  /// A token's canonical text.
  public func text(of token: DeviceToken) -> String {
    token.bytes.withUnsafeBytes { token in
      String(unsafeUninitializedCapacity: 2 * token.count) {
        writeText(of: token, to: UnsafeMutableRawBufferPointer($0))
      }
    }
  }

  /// As much of a token's text as tells tokens apart and is of no use to anybody else: for logs and terminals.
  public func shortText(of token: DeviceToken) -> String {
    let text = text(of: token)
    return text.count > 16 ? "\(text.prefix(8))…\(text.suffix(4))" : text
  }

  /// The service's word for a reason; empty where it has none.
  public func reasonName(of code: ReasonCode) -> String { String(decoding: reasonText(of: code), as: UTF8.self) }
}
