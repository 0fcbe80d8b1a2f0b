public import PushTransport

/// The content of an answer of APNs to a single request.
extension HTTPExchange.Response {
  /// Reason of a rejection.
  public var reason: Reason { content.reason }

  /// Apple's name of the reason, even if this version does not know the reason; `nil` for none.
  public var reasonText: String? {
    let content = content
    let text = content.unknownReason ?? content.reason.name
    return text.isEmpty ? nil : text
  }

  /// Time at which APNs found that the token is invalid (with status 410), in ms since the epoch; 0 if absent.
  public var timestamp: UInt64 { content.timestamp }

  private var content: ResponseBody { body.withUnsafeBytes { ResponseBody($0) } }
}
