/// The reason why a stream or a connection ended (RFC 9113 section 7).
public struct HTTP2ErrorCode: RawRepresentable, Equatable, Hashable, Sendable {
  public var rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let noError = HTTP2ErrorCode(rawValue: 0)
  public static let protocolError = HTTP2ErrorCode(rawValue: 1)
  public static let internalError = HTTP2ErrorCode(rawValue: 2)
  public static let flowControlError = HTTP2ErrorCode(rawValue: 3)
  public static let streamClosed = HTTP2ErrorCode(rawValue: 5)
  public static let frameSizeError = HTTP2ErrorCode(rawValue: 6)
  /// The stream was refused before any processing. The request may be retried (RFC 9113 section 8.7).
  public static let refusedStream = HTTP2ErrorCode(rawValue: 7)
  public static let cancel = HTTP2ErrorCode(rawValue: 8)
  public static let compressionError = HTTP2ErrorCode(rawValue: 9)
  public static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)
}
