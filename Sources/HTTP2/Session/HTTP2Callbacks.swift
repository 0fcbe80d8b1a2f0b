internal import CNghttp2

/// The callbacks for nghttp2. Each callback calls a method of the ``HTTP2Session`` that it gets as its user data.
///
/// A pointer from nghttp2 is valid only during the callback (nghttp2_on_frame_recv_callback(3) and its neighbours). The
/// return value 0 continues the session; no callback here fails.
enum HTTP2Callbacks {
  static func install(_ callbacks: OpaquePointer?) {
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
      guard let frame else { return 0 }
      return withSession(context) { session in
        session.incoming.removeAll()
        if frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST { session.openSlot(for: frame.pointee.hd.stream_id) }
      }
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, nameStart, nameCount, valueStart, valueCount, _, context in
      withSession(context) { session in
        let name = UnsafeRawBufferPointer(start: nameStart, count: nameCount)
        session.incoming.add(name, UnsafeRawBufferPointer(start: valueStart, count: valueCount))
      }
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      guard let frame else { return 0 }
      return withSession(context) { HTTP2Callbacks.received(frame, in: $0) }
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, id, bytes, count, context in
      withSession(context) { session in
        guard let stream = session.stream(id) else { return }
        session.handler?.received(UnsafeRawBufferPointer(start: bytes, count: count), on: stream)
      }
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, error, context in
      withSession(context) { session in
        guard let stream = session.stream(id) else { return }
        HTTP2Callbacks.close(stream, HTTP2ErrorCode(rawValue: error), in: session)
      }
    }
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, code, context in
      guard let frame, code == NGHTTP2_ERR_REFUSED_STREAM.rawValue else { return 0 }
      return withSession(context) { $0.handler?.refused(streamID: frame.pointee.hd.stream_id) }
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, context in
      guard let frame, frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue),
        frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
      else { return 0 }
      return withSession(context) { session in
        // This request was never sent, for example because of a GOAWAY. nghttp2 has no stream for it, so no close
        // callback follows (session_predicate_request_headers_send in nghttp2_session.c).
        guard let stream = session.queuedStream(frame.pointee.hd.stream_id) else { return }
        HTTP2Callbacks.close(stream, .refusedStream, in: session)
      }
    }
  }

  private static func received(_ frame: UnsafePointer<nghttp2_frame>, in session: HTTP2Session) {
    let header = frame.pointee.hd
    switch header.type {
    case UInt8(NGHTTP2_HEADERS.rawValue):
      guard let stream = session.stream(header.stream_id) else { return }
      session.handler?.received(session.incoming, on: stream)
      if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 { session.handler?.ended(stream) }
    case UInt8(NGHTTP2_DATA.rawValue):
      guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
      guard let stream = session.stream(header.stream_id) else { return }
      session.handler?.ended(stream)
    case UInt8(NGHTTP2_SETTINGS.rawValue):
      guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return }
      session.hasReceivedSettings = true
      session.handler?.receivedSettings()
    case UInt8(NGHTTP2_PING.rawValue):
      if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 { session.handler?.receivedPing() }
    case UInt8(NGHTTP2_GOAWAY.rawValue):
      let goAway = frame.pointee.goaway
      session.handler?.receivedGoAway(
        lastStreamID: goAway.last_stream_id, error: HTTP2ErrorCode(rawValue: goAway.error_code),
        debugData: UnsafeRawBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len))
    default: break
    }
  }

  private static func close(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode, in session: HTTP2Session) {
    session.handler?.closed(stream, error: error)
    session.closeSlot(stream)
  }

  /// Implements nghttp2_data_source_read_callback(3): fills `buffer`, returns the number of bytes, and flags the end.
  static func readBody(
    into buffer: UnsafeMutablePointer<UInt8>?, count: Int, flags: UnsafeMutablePointer<UInt32>?,
    source: UnsafeMutablePointer<nghttp2_data_source>?, context: UnsafeMutableRawPointer?
  ) -> Int {
    guard let source, let context else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
    let session = Unmanaged<HTTP2Session>.fromOpaque(context).takeUnretainedValue()
    let taken = session.takeBody(
      slot: Int(source.pointee.fd), into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
    flags?.pointee |= taken.flags.rawValue
    return taken.count
  }
}

private func withSession(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Session) -> Void) -> Int32 {
  guard let context else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
  // The session outlives its callbacks, which run only during its own methods, so no reference is counted.
  Unmanaged<HTTP2Session>.fromOpaque(context)._withUnsafeGuaranteedRef(body)
  return 0
}
