public import PushTransport

extension HTTPExchange.Response {
  /// The reason of a rejection.
  public var reason: Reason { content.reason }

  /// Apple's word for it, known to us or not; `nil` for none.
  public var reasonText: String? {
    let content = content
    let text = content.unknownReason ?? content.reason.name
    return text.isEmpty ? nil : text
  }

  /// With 410: when APNs found the token dead, in ms since the epoch; 0 when absent.
  public var timestamp: UInt64 { content.timestamp }

  private var content: ResponseBody { body.withUnsafeBytes { ResponseBody($0) } }
}
