internal import CCurl
internal import EventLoop
internal import HTTP2
internal import PushCore

/// Count of the pushes that libcurl has but has not begun to send. They wait for the peer's stream limit or for a
/// connection that is being opened. All transfers of one connection share the count. Confined to the loop of the
/// connection, like the transfers.
final class CurlQueue {
  /// Number of waiting pushes.
  var waiting = 0
}

/// One push in flight: an easy handle, and the memory that libcurl uses for it.
///
/// One transfer is made for each stream and reused, so that a push allocates nothing here. Confined to the loop of its
/// connection. libcurl's callbacks get an unretained pointer to the transfer; the connection keeps it alive until the
/// easy handle is freed.
final class CurlTransfer {
  /// Easy handle; `nil` after an error, because the handle can't be used again.
  var easy: UnsafeMutableRawPointer?
  /// Number of the push, chosen by the caller.
  private(set) var tag: UInt64 = 0
  /// Time when libcurl began to send the push, in monotonic nanoseconds. If it never began: the time when it got the
  /// push.
  private(set) var sentAt: UInt64 = 0
  /// Headers of the push. The reference keeps them in memory, because libcurl reads them until the transfer ends.
  private(set) var headers: HeaderList?
  /// Whether libcurl has asked for the body. If not, the service can't have processed the push.
  private(set) var wasRead = false

  /// Number of bytes for the body of the first answer. After a longer body, a transfer has memory for
  /// ``RequestSession/keptBody`` bytes, the limit of the native engine. The rest of the body is dropped.
  private static let shortResponse = 512
  /// Number of bytes of a body after which a transfer is ended. No answer to a push is this long, so such a body may
  /// never end.
  static let longestBody = 65_536

  private var payload = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private(set) var payloadCount = 0
  private var payloadRead = 0
  private var response = UnsafeMutableRawBufferPointer.allocate(byteCount: shortResponse, alignment: 1)
  /// Number of bytes of the body that were kept, and number of bytes that were received.
  private var responseCount = 0
  private var receivedCount = 0
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private let idNode = UnsafeMutablePointer<curl_slist>.allocate(capacity: 1)
  /// The header line with the push's id, `name: UUID`, and a zero byte at its end.
  private var idLine = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// Name at the beginning of ``idLine``.
  private var idName: String?

  private let queue: CurlQueue
  private let mayRequest: (_ easy: UnsafeMutableRawPointer) -> Bool

  /// - Parameter mayRequest: returns whether the connection that libcurl has chosen for the transfer may be used.
  init(_ queue: CurlQueue, mayRequest: @escaping (_ easy: UnsafeMutableRawPointer) -> Bool) {
    self.queue = queue
    self.mayRequest = mayRequest
    idNode.initialize(to: curl_slist(data: nil, next: nil))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    payload.deallocate()
    response.deallocate()
    errorText.deallocate()
    idNode.deallocate()
    idLine.deallocate()
  }

  /// Prepares one push: copies the data that libcurl will read.
  func load(_ push: Push, payload bytes: UnsafeRawBufferPointer, headers: HeaderList, now: UInt64) {
    tag = push.tag
    sentAt = now
    wasRead = false
    queue.waiting += 1
    payloadRead = 0
    payloadCount = bytes.count
    responseCount = 0
    receivedCount = 0
    errorText[0] = 0
    if payload.count < bytes.count {
      payload.deallocate()
      // The size is a multiple of 512 bytes, so that the memory can be reused: payloads of one campaign differ only a
      // little in size.
      payload = .allocate(byteCount: (bytes.count + 511) / 512 * 512, alignment: 1)
    }
    payload.copyMemory(from: bytes)
    if headers.request.identifier != idName { nameID(headers.request.identifier) }
    if idName != nil {
      UUIDText.write(push.id, to: UnsafeMutableRawBufferPointer(rebasing: idLine.dropLast().suffix(UUIDText.count)))
    }
    // The node belongs to this transfer; the rest of the list is shared, see ``HeaderList``.
    idNode.pointee.next = headers.head
    self.headers = headers
  }

  /// Prepares the header line for the push's id. The name rarely changes, because the pushes of a campaign share it.
  private func nameID(_ name: String?) {
    idName = name
    idLine.deallocate()
    idLine = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    guard let name else { return }
    let prefix = Array("\(name): ".utf8)
    idLine = .allocate(byteCount: prefix.count + UUIDText.count + 1, alignment: 1)
    idLine.copyBytes(from: prefix)
    idLine[prefix.count + UUIDText.count] = 0
    idNode.pointee.data = idLine.baseAddress?.assumingMemoryBound(to: CChar.self)
  }

  /// Releases the data that is needed only while the push is in flight.
  func unload() {
    if !wasRead { queue.waiting -= 1 }
    headers = nil
  }

  /// List for CURLOPT_HTTPHEADER.
  var headerList: UnsafeMutablePointer<curl_slist>? { idName == nil ? headers?.head : idNode }

  /// Body of the answer, as far as it was kept.
  var responseBody: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: response[..<responseCount]) }

  /// libcurl's text about the last error, more exact than the code's text; `nil` if there is none.
  var errorDetail: String? { errorText[0] == 0 ? nil : String(cString: errorText) }

  /// Sets the options of a new easy handle that are the same for every push.
  ///
  /// - Returns: `false` if libcurl lacks memory, or does not support one of the options. The handle is then unusable.
  func adopt(_ easy: UnsafeMutableRawPointer) -> Bool {
    let own = Unmanaged.passUnretained(self).toOpaque()
    let codes = [
      carillon_easy_set_pointer(easy, CURLOPT_PRIVATE, own),
      // CURLOPT_ERRORBUFFER: the buffer must exist until the handle is cleaned up. This buffer lives as long as the
      // transfer, which outlives its handle.
      carillon_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText),
      carillon_easy_set_read(easy, readBody, own),
      carillon_easy_set_seek(easy, refuseSeek, own),
      carillon_easy_set_write(easy, writeResponse, own),
      carillon_easy_set_prerequest(easy, askToSend, own),
    ]
    guard codes.allSatisfy({ $0 == CURLE_OK }) else { return false }
    self.easy = easy
    return true
  }

  fileprivate var maySend: Bool { easy.map(mayRequest) ?? false }

  fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    // libcurl has already read the whole body, so it wants to send the body a second time. libcurl must not decide to
    // send a push twice.
    if wasRead, payloadRead == payloadCount { return Int(CURL_READFUNC_ABORT) }
    if !wasRead {
      wasRead = true
      sentAt = EventLoop.now
      queue.waiting -= 1
    }
    let count = min(buffer.count, payloadCount - payloadRead)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: payload[payloadRead..<payloadRead + count]))
    payloadRead += count
    return count
  }

  /// Stores a part of the answer's body.
  ///
  /// - Returns: whether the body may continue.
  fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    receivedCount += bytes.count
    guard receivedCount <= Self.longestBody else { return false }
    let count = min(bytes.count, RequestSession.keptBody - responseCount)
    guard count > 0 else { return true }
    if responseCount + count > response.count {
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: RequestSession.keptBody, alignment: 1)
      memory.copyMemory(from: responseBody)
      response.deallocate()
      response = memory
    }
    UnsafeMutableRawBufferPointer(rebasing: response[responseCount...])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    responseCount += count
    return true
  }
}

/// Callback for CURLOPT_READFUNCTION. It fills at most `size * count` bytes of the buffer and returns their number.
private func readBody(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
  guard let data else { return Int(CURL_READFUNC_ABORT) }
  // The pointer is the transfer that set it; it lives as long as its easy handle.
  return Unmanaged<CurlTransfer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
  }
}

/// Callback for CURLOPT_PREREQFUNCTION. libcurl calls it when the transfer has its connection, before anything is sent.
/// `ABORT` makes the transfer fail (CURLE_ABORTED_BY_CALLBACK).
private func askToSend(
  _ data: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32
) -> Int32 {
  guard let data else { return CURL_PREREQFUNC_ABORT }
  return Unmanaged<CurlTransfer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.maySend ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  }
}

/// Callback for CURLOPT_SEEKFUNCTION. libcurl calls it when it wants to send the body again after a stream was reset.
/// With this result, the transfer fails with CURLE_SEND_FAIL_REWIND. Otherwise libcurl would send the push twice
/// without notice.
private func refuseSeek(_: UnsafeMutableRawPointer?, _: curl_off_t, _: Int32) -> Int32 { CURL_SEEKFUNC_FAIL }

/// Callback for CURLOPT_WRITEFUNCTION. It gets bytes of the body. A result below their number makes the transfer fail
/// (CURLE_WRITE_ERROR).
private func writeResponse(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
  guard let data else { return size * count }
  return Unmanaged<CurlTransfer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.write(UnsafeRawBufferPointer(start: buffer, count: size * count)) ? size * count : 0
  }
}
