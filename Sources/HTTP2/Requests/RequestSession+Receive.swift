/// The processing of bytes from the peer (RFC 9113 sections 4 to 6 and 8). A connection error ends the connection with
/// a GOAWAY that contains the reason. A stream error ends the stream with RST_STREAM.
extension RequestSession {
  /// Maximum number of frames, and maximum number of bytes, of one header block. Only a hostile peer sends more.
  private static let maximumBlockFrames = 64
  private static let largestBlock = 65_536

  /// Processes bytes from the peer.
  ///
  /// - Throws: ``HTTP2Error`` if the peer breaks a rule of HTTP/2. In this case ``output`` ends with a GOAWAY, and the
  ///   connection must be closed.
  public func receive(_ bytes: UnsafeRawBufferPointer) throws {
    guard !isTerminated else { return }
    var rest = bytes
    while partialCount > 0, !rest.isEmpty { try completePartial(&rest) }
    while rest.count >= FrameHeader.size {
      let header = try header(rest)
      let size = FrameHeader.size + header.length
      guard rest.count >= size else { break }
      try handle(header, UnsafeRawBufferPointer(rebasing: rest[FrameHeader.size..<size]))
      rest = UnsafeRawBufferPointer(rebasing: rest[size...])
    }
    if !rest.isEmpty { keep(&rest, upTo: rest.count) }
    sendUnsentBodies()
  }

  private func header(_ bytes: UnsafeRawBufferPointer) throws -> FrameHeader {
    let header = FrameHeader(bytes.baseAddress.unsafelyUnwrapped)
    guard header.length <= FrameHeader.largestPayload else {
      throw violation(.frameSizeError, "a frame of \(header.length) bytes")
    }
    return header
  }

  /// Completes a frame of which only a part has arrived: first its header, then its payload.
  private func completePartial(_ rest: inout UnsafeRawBufferPointer) throws {
    keep(&rest, upTo: FrameHeader.size)
    guard partialCount >= FrameHeader.size else { return }
    let header = try header(UnsafeRawBufferPointer(partial))
    let size = FrameHeader.size + header.length
    keep(&rest, upTo: size)
    guard partialCount == size else { return }
    partialCount = 0
    try handle(header, UnsafeRawBufferPointer(rebasing: partial[FrameHeader.size..<size]))
  }

  private func keep(_ rest: inout UnsafeRawBufferPointer, upTo size: Int) {
    let count = min(rest.count, size - partialCount)
    guard count > 0 else { return }
    UnsafeMutableRawBufferPointer(rebasing: partial[partialCount...]).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: rest[..<count]))
    partialCount += count
    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
  }

  /// Ends the connection, and returns the error.
  private func violation(_ code: HTTP2ErrorCode, _ what: String) -> HTTP2Error {
    terminate(code)
    return HTTP2Error("receive", "the peer broke the rules of HTTP/2 with \(what)")
  }

  // MARK: Frames

  private func handle(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws {
    frames += 1
    guard frames <= Self.maximumFrames else {
      throw violation(.enhanceYourCalm, "more than \(Self.maximumFrames) frames a second besides those of answers")
    }
    if blockStream != 0, header.kind != FrameHeader.Kind.continuation || header.stream != blockStream {
      throw violation(.protocolError, "a frame within a header block")
    }
    if !hasReceivedSettings {
      guard header.kind == FrameHeader.Kind.settings, !header.has(FrameHeader.Flag.acknowledgement) else {
        throw violation(.protocolError, "a first frame that is not SETTINGS")
      }
    }
    switch header.kind {
    case FrameHeader.Kind.data: try takeData(header, payload)
    case FrameHeader.Kind.headers: try takeHeaders(header, payload)
    case FrameHeader.Kind.continuation: try takeContinuation(header, payload)
    case FrameHeader.Kind.resetStream:
      try expect(header, 4, onConnection: false)
      let slot = try slot(of: header)
      if slot >= 0 { table.end(slot, error: Self.number(payload)) }
    case FrameHeader.Kind.settings: try takeSettings(header, payload)
    case FrameHeader.Kind.ping:
      try expect(header, 8, onConnection: true)
      if header.has(FrameHeader.Flag.acknowledgement) {
        pingAnswers += 1
      } else {
        try control(FrameHeader.Kind.ping, Array(payload), flags: FrameHeader.Flag.acknowledgement)
      }
    case FrameHeader.Kind.goAway: try takeGoAway(header, payload)
    case FrameHeader.Kind.windowUpdate: try takeWindowUpdate(header, payload)
    case FrameHeader.Kind.priority: try expect(header, 5, onConnection: false)
    case FrameHeader.Kind.pushPromise:
      throw violation(.protocolError, "a PUSH_PROMISE, although server push is disabled")
    default: break
    }
  }

  /// Checks the size of a frame with a fixed size, and whether it belongs to the connection or to a stream as required.
  private func expect(_ header: FrameHeader, _ length: Int, onConnection: Bool) throws {
    guard header.length == length else {
      throw violation(.frameSizeError, "a frame of type \(header.kind) and \(header.length) bytes")
    }
    guard (header.stream == 0) == onConnection else {
      throw violation(.protocolError, "a frame of type \(header.kind) on stream \(header.stream)")
    }
  }

  /// Returns the slot of a frame's stream; -1 if the stream has ended, which the peer may not know.
  private func slot(of header: FrameHeader) throws -> Int {
    guard header.stream & 1 == 1, header.stream < nextID else {
      throw violation(.protocolError, "a frame of type \(header.kind) on stream \(header.stream), which was not opened")
    }
    return table.slot(of: header.stream)
  }

  private static func number(_ payload: UnsafeRawBufferPointer, at place: Int = 0) -> UInt32 {
    UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: place, as: UInt32.self))
  }

  /// Returns a payload without its padding (RFC 9113 section 6.1).
  private func unpadded(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
    guard header.has(FrameHeader.Flag.padded) else { return payload }
    guard let padding = payload.first, payload.count > Int(padding) else {
      throw violation(.protocolError, "more padding than payload")
    }
    return UnsafeRawBufferPointer(rebasing: payload[1..<payload.count - Int(padding)])
  }

  // MARK: Header blocks

  private func takeHeaders(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws {
    _ = try slot(of: header)
    var block = try unpadded(header, payload)
    if header.has(FrameHeader.Flag.priority) {
      guard block.count >= 5 else {
        throw violation(.frameSizeError, "a HEADERS frame that is too short for its priority")
      }
      block = UnsafeRawBufferPointer(rebasing: block[5...])
    }
    blockStream = header.stream
    blockEndsStream = header.has(FrameHeader.Flag.endStream)
    (blockSize, blockFrames) = (0, 0)
    try takeBlock(block, isLast: header.has(FrameHeader.Flag.endHeaders))
  }

  private func takeContinuation(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws {
    guard blockStream != 0 else { throw violation(.protocolError, "a CONTINUATION without a header block") }
    try takeBlock(payload, isLast: header.has(FrameHeader.Flag.endHeaders))
  }

  private func takeBlock(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws {
    blockSize += bytes.count
    blockFrames += 1
    guard blockSize <= Self.largestBlock, blockFrames <= Self.maximumBlockFrames else {
      throw violation(.enhanceYourCalm, "a header block without end")
    }
    // The block of an ended stream is read too, because the table of fields belongs to the connection.
    guard answers.read(bytes, isLast: isLast) else {
      throw violation(.compressionError, "header fields that are not HPACK")
    }
    guard isLast else { return }
    let slot = table.slot(of: blockStream)
    blockStream = 0
    if slot >= 0 { try takeFields(answers.content, of: slot) }
  }

  /// Handles the blocks of RFC 9113 section 8.1: interim answers, the answer, and trailers after its body.
  private func takeFields(_ fields: AnswerFields.Content, of slot: Int) throws {
    let request = table.slots + slot
    request.pointee.hasResponse = true
    let isTrailer = request.pointee.status != 0
    let isInterim = fields.status < 200
    let isAllowed =
      isTrailer
      ? fields.status == 0 && blockEndsStream
      : fields.status != 0 && fields.status != 101
        && !(isInterim && blockEndsStream)
    guard isAllowed, !fields.isMalformed else { return try reset(slot, .protocolError) }
    if !isTrailer, !isInterim {
      request.pointee.status = fields.status
      request.pointee.retryAfter = fields.retryAfter
      request.pointee.retryAt = fields.retryAt
      // If `retry-after` is a point in time, the delay in seconds is its difference from the answer's `date`, which
      // shows the peer's clock.
      if fields.retryAt > 0, fields.date > 0 {
        request.pointee.retryAfter = UInt16(clamping: Int(fields.retryAt) - Int(fields.date))
        request.pointee.retryAt = 0
      }
      request.pointee.announcedBody = fields.bodyCount
    }
    if blockEndsStream { try endAnswer(slot) }
  }

  private func endAnswer(_ slot: Int) throws {
    let request = table.slots + slot
    let announced = request.pointee.announcedBody
    // These answers have no body by definition (RFC 9110 section 6.4.1).
    let hasNoBody = request.pointee.status == 204 || request.pointee.status == 304
    guard announced < 0 || announced == request.pointee.answerBody || hasNoBody else {
      return try reset(slot, .protocolError)
    }
    if request.pointee.bodyLeft > 0 {
      // The answer came before the whole body was sent, so the remaining body is useless (RFC 9113 section 8.1).
      try control(
        FrameHeader.Kind.resetStream, FrameHeader.bytes(HTTP2ErrorCode.cancel.rawValue), stream: request.pointee.id)
    }
    table.end(slot, error: HTTP2ErrorCode.noError.rawValue)
  }

  // MARK: Bodies

  private func takeData(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws {
    let slot = try slot(of: header)
    let body = try unpadded(header, payload)
    received += header.length
    guard received <= Self.initialWindow else {
      throw violation(.flowControlError, "more DATA than the window allows")
    }
    if received > Self.initialWindow / 2 {
      try control(FrameHeader.Kind.windowUpdate, FrameHeader.bytes(UInt32(received)))
      received = 0
    }
    guard slot >= 0 else { return }
    let request = table.slots + slot
    request.pointee.received += header.length
    guard request.pointee.received <= Self.initialWindow else { return try reset(slot, .flowControlError) }
    guard request.pointee.status != 0 else { return try reset(slot, .protocolError) }
    request.pointee.answerBody += body.count
    guard request.pointee.answerBody <= Self.longestBody else { return try reset(slot, .enhanceYourCalm) }
    table.keepAnswer(body, of: slot)
    if header.has(FrameHeader.Flag.endStream) { return try endAnswer(slot) }
    guard request.pointee.received > Self.initialWindow / 2 else { return }
    try control(
      FrameHeader.Kind.windowUpdate, FrameHeader.bytes(UInt32(request.pointee.received)), stream: header.stream)
    request.pointee.received = 0
  }

  private func takeWindowUpdate(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws {
    try expect(header, 4, onConnection: header.stream == 0)
    let more = Int(Self.number(payload) & 0x7fff_ffff)
    guard header.stream != 0 else {
      guard more > 0 else { throw violation(.protocolError, "a WINDOW_UPDATE of 0 bytes") }
      connectionWindow += more
      guard connectionWindow <= Int(Int32.max) else { throw violation(.flowControlError, "a window that is too large") }
      return
    }
    let slot = try slot(of: header)
    guard slot >= 0 else { return }
    guard more > 0 else { return try reset(slot, .protocolError) }
    table.slots[slot].sendWindow += more
    if table.slots[slot].sendWindow > Int(Int32.max) { try reset(slot, .flowControlError) }
  }

  // MARK: The connection

  private func takeSettings(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws {
    guard header.stream == 0 else { throw violation(.protocolError, "SETTINGS on stream \(header.stream)") }
    let isAcknowledgement = header.has(FrameHeader.Flag.acknowledgement)
    guard isAcknowledgement ? header.length == 0 : header.length % 6 == 0 else {
      throw violation(.frameSizeError, "SETTINGS of \(header.length) bytes")
    }
    if isAcknowledgement { return }
    for place in stride(from: 0, to: payload.count, by: 6) {
      let id = UInt16(bigEndian: payload.loadUnaligned(fromByteOffset: place, as: UInt16.self))
      try take(id, Int(Self.number(payload, at: place + 2)))
    }
    hasReceivedSettings = true
    try control(FrameHeader.Kind.settings, [], flags: FrameHeader.Flag.acknowledgement)
  }

  private func take(_ parameter: UInt16, _ value: Int) throws {
    switch parameter {
    case HTTP2Settings.Parameter.headerTableSize: setHeaderTableSize(value)
    case HTTP2Settings.Parameter.enablePush:
      guard value == 0 else { throw violation(.protocolError, "SETTINGS_ENABLE_PUSH of \(value)") }
    case HTTP2Settings.Parameter.maxConcurrentStreams: peerMaxConcurrentStreams = value
    case HTTP2Settings.Parameter.initialWindowSize:
      guard value <= Int(Int32.max) else { throw violation(.flowControlError, "an initial window of \(value)") }
      let more = value - streamWindow
      streamWindow = value
      for slot in 0..<table.capacity where table.slots[slot].isOpen {
        table.slots[slot].sendWindow += more
        guard table.slots[slot].sendWindow <= Int(Int32.max) else {
          throw violation(.flowControlError, "a window that is too large")
        }
      }
    case HTTP2Settings.Parameter.maxFrameSize:
      guard 16_384...16_777_215 ~= value else {
        throw violation(.protocolError, "SETTINGS_MAX_FRAME_SIZE of \(value) bytes")
      }
    default: break
    }
  }

  private func takeGoAway(_ header: FrameHeader, _ payload: UnsafeRawBufferPointer) throws {
    guard header.stream == 0 else { throw violation(.protocolError, "GOAWAY on stream \(header.stream)") }
    guard payload.count >= 8 else { throw violation(.frameSizeError, "GOAWAY of \(payload.count) bytes") }
    let last = Self.number(payload) & 0x7fff_ffff
    // A later GOAWAY may name a lower stream, but never a higher one (RFC 9113 section 6.8).
    guard last == 0 || last & 1 == 1, last <= goAway.map({ UInt32($0.lastStreamID) }) ?? .max else {
      throw violation(.protocolError, "a GOAWAY that names stream \(last)")
    }
    goAwayCount += 1
    goAway = GoAway(
      lastStreamID: Int32(last), error: HTTP2ErrorCode(rawValue: Self.number(payload, at: 4)),
      debugData: Array(payload[8...]))
    for slot in 0..<table.capacity where table.slots[slot].isOpen && table.slots[slot].id > last {
      table.end(slot, error: HTTP2ErrorCode.refusedStream.rawValue)
    }
  }
}
