internal import CNghttp2

/// nghttp2's callbacks, each handing over to the ``RequestSession`` that is its user data.
///
/// Every pointer that nghttp2 passes is valid during the callback only (nghttp2_on_frame_recv_callback(3) and its
/// neighbours). Returning 0 goes on.
enum RequestCallbacks {
  static func install(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, context in
      guard let frame else { return 0 }
      let slot = RequestTable.slot(
        userData: nghttp2_session_get_stream_user_data(session, frame.pointee.hd.stream_id))
      return withSession(context) {
        $0.current = slot
        $0.headerListSize = 0
      }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameCount, value, valueCount, _, context in
      guard let name, let value, let context else { return 0 }
      return Unmanaged<RequestSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
        guard session.current >= 0 else { return 0 }
        session.headerListSize += nameCount + valueCount + 32
        guard session.headerListSize <= RequestSession.longestHeaderList else { return refuse(session) }
        // The two that matter have seven and eleven bytes: `:status` and `retry-after`.
        let bytes = UnsafeBufferPointer(start: value, count: valueCount)
        if nameCount == 7, name[0] == UInt8(ascii: ":") {
          session.table.slots[session.current].status = number(bytes)
        } else if nameCount == 11, UnsafeBufferPointer(start: name, count: nameCount).elementsEqual("retry-after".utf8)
        {
          session.table.slots[session.current].retryAfter = number(bytes)
        }
        return 0
      }
    }
    // Without this one nghttp2 passes over fields that RFC 9113 section 8.2.1 forbids.
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) { _, _, _, _, _, _, _, context in
      guard let context else { return 0 }
      return Unmanaged<RequestSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
        session.current >= 0 ? refuse(session) : 0
      }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      guard let frame else { return 0 }
      return withSession(context) { RequestCallbacks.received(frame, in: $0) }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { session, _, id, bytes, count, context in
      let slot = RequestTable.slot(userData: nghttp2_session_get_stream_user_data(session, id))
      guard slot >= 0 else { return 0 }
      return withSession(context) { $0.table.keepAnswer(UnsafeRawBufferPointer(start: bytes, count: count), of: slot) }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, id, error, context in
      let slot = RequestTable.slot(userData: nghttp2_session_get_stream_user_data(session, id))
      guard slot >= 0 else { return 0 }
      return withSession(context) { $0.table.end(slot, error: error) }
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, context in
      guard let frame, frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue) else { return 0 }
      return withSession(context) { session in
        // A request that never left, after a GOAWAY for instance: nghttp2 has no stream for it, so no close callback
        // follows (session_predicate_request_headers_send in nghttp2_session.c).
        guard let slot = session.table.find(id: frame.pointee.hd.stream_id) else { return }
        session.table.end(slot, error: HTTP2ErrorCode.refusedStream.rawValue)
      }
    }
    nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, _, header, count, source, context in
      guard let header, let source, let context else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
      return Unmanaged<RequestSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
        // Nine bytes of frame header (RFC 9113 section 4.1); nothing here pads.
        let header = UnsafeRawBufferPointer(start: header, count: 9)
        let fits = session.appendData(slot: Int(source.pointee.fd), header: header, count: count)
        return fits ? 0 : NGHTTP2_ERR_WOULDBLOCK.rawValue
      }
    }
  }

  /// nghttp2_data_source_read_callback(3): says how much comes next; `send_data` puts it there without another copy.
  static let readBody: nghttp2_data_source_read_callback = { _, _, _, limit, flags, source, context in
    guard let source, let flags, let context else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    return Unmanaged<RequestSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
      let left = session.table.slots[Int(source.pointee.fd)].bodyLeft
      flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
      if left <= limit { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
      return min(left, limit)
    }
  }

  private static func received(_ frame: UnsafePointer<nghttp2_frame>, in session: RequestSession) {
    let header = frame.pointee.hd
    switch header.type {
    case UInt8(NGHTTP2_HEADERS.rawValue), UInt8(NGHTTP2_DATA.rawValue):
      guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
      var slot = session.current
      if header.type == UInt8(NGHTTP2_DATA.rawValue) {
        let data = nghttp2_session_get_stream_user_data(session.handle, header.stream_id)
        slot = RequestTable.slot(userData: data)
      }
      guard slot >= 0, session.table.slots[slot].bodyLeft > 0 else { return }
      // Answered before all of it was sent: the rest is of no use to anybody (RFC 9113 section 8.1).
      _ = nghttp2_submit_rst_stream(
        session.handle, UInt8(NGHTTP2_FLAG_NONE.rawValue), header.stream_id, HTTP2ErrorCode.cancel.rawValue)
    case UInt8(NGHTTP2_SETTINGS.rawValue):
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 { session.hasReceivedSettings = true }
    case UInt8(NGHTTP2_PING.rawValue):
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 { session.pingAnswers += 1 }
    case UInt8(NGHTTP2_GOAWAY.rawValue):
      let goAway = frame.pointee.goaway
      session.goAwayCount += 1
      session.goAway = RequestSession.GoAway(
        lastStreamID: goAway.last_stream_id, error: HTTP2ErrorCode(rawValue: goAway.error_code),
        debugData: Array(UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)))
    default: break
    }
  }
}

private func withSession(_ context: UnsafeMutableRawPointer?, _ body: (RequestSession) -> Void) -> Int32 {
  guard let context else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
  // The session outlives its callbacks, which come during its own methods only: no need to count references.
  Unmanaged<RequestSession>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
  return 0
}

/// The header block that is being read is malformed: nghttp2 is to reset its stream (nghttp2_on_header_callback(3)).
private func refuse(_ session: RequestSession) -> Int32 {
  session.table.slots[session.current].isMalformed = true
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
}

/// A number in digits; 0 for anything else, and no more than fits.
private func number(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt16 {
  var value: UInt32 = 0
  for byte in bytes {
    guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return 0 }
    value = min(value * 10 + UInt32(byte - UInt8(ascii: "0")), UInt32(UInt16.max))
  }
  return UInt16(value)
}
