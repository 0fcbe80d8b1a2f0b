internal import HTTP2

/// The open channel requests of one connection: requests that manage broadcast channels or send broadcasts. They are
/// few, so this code is not optimised for speed.
final class ChannelExchanges {
  private struct Exchange {
    var request: ChannelRequest
    var body: [UInt8] = []
  }

  private let session: HTTP2Session
  private let loop: LoopState
  private let validator: ChannelValidator
  private var open: [HTTP2Stream: Exchange] = [:]

  init(session: HTTP2Session, loop: LoopState) {
    self.session = session
    self.loop = loop
    validator = ChannelValidator(loop.shared)
  }

  func begin(_ request: ChannelRequest, on stream: HTTP2Stream) { open[stream] = Exchange(request: request) }

  func receive(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) {
    guard let count = open[stream]?.body.count else { return }
    // One byte above the limit is enough to detect that the body is too large.
    open[stream]?.body.append(contentsOf: bytes.prefix(ChannelValidator.longestBody + 1 - count))
  }

  /// Answers a request that was received completely.
  ///
  /// - Returns: `nil` if the stream is not a channel request; otherwise whether the request was granted.
  func finish(
    _ stream: HTTP2Stream, _ authentication: inout ConnectionAuthentication
  ) throws -> Bool? {
    guard let exchange = open.removeValue(forKey: stream) else { return nil }
    let request = exchange.request
    let verdict = (request.authorization ?? []).withUnsafeBytes { bytes in
      authentication.authenticate(request.authorization == nil ? nil : bytes, by: loop.rules, now: loop.now)
    }
    let answer = validator.validate(
      request, from: verdict, certificate: authentication.certificate, body: exchange.body, by: loop.rules,
      now: loop.now)
    if answer.isBroadcast, let failure = loop.nextFailure(for: [], nil) {
      loop.tally.injected[failure.reason, default: 0] += 1
      try respond(to: stream, request, status: failure.status, body: loop.rules.body(failure.reason))
      return false
    }
    if answer.isBroadcast { loop.shared.channels.countBroadcast() }
    if let reason = answer.reason { loop.tally.byReason[Int(reason.rawValue)] += 1 }
    let body = answer.reason.map { loop.rules.body($0, timestamp: 0) } ?? answer.body
    try respond(to: stream, request, status: answer.status, body: body) { fields in
      if answer.isBroadcast { MessageID(random: &loop.generator).withText { fields.add("apns-unique-id", $0) } }
      if let channelID = answer.channelID { fields.add("apns-channel-id", channelID) }
    }
    return answer.reason == nil
  }

  func close(_ stream: HTTP2Stream) { open[stream] = nil }

  private func respond(
    to stream: HTTP2Stream, _ request: ChannelRequest, status: Int, body: [UInt8]?,
    more: (inout HeaderFields) -> Void = { _ in }
  ) throws {
    var fields = HeaderFields()
    fields.add(":status", String(status))
    if let id = request.requestID {
      fields.add("apns-request-id", id)
    } else {
      MessageID(random: &loop.generator).withText { fields.add("apns-request-id", $0) }
    }
    more(&fields)
    if body != nil { fields.add("content-type", "application/json") }
    try session.respond(to: stream, fields, body: body)
  }
}
