internal import CCurl
internal import EventLoop
internal import PushCore

/// What libcurl was given and has not begun to send: what the peer's stream limit, or a connection being opened, holds
/// back. Shared by the transfers of one connection, and confined to its loop as they are.
final class CurlQueue {
  /// Pushes in it.
  var waiting = 0
}

/// One push on its way: an easy handle, and the memory that libcurl reads from and writes to meanwhile.
///
/// Made once for each stream and used again and again, so that a push allocates nothing here. Confined to the loop of
/// its connection; libcurl's callbacks get an unretained pointer to it, and its connection keeps it alive until the
/// easy handle is gone.
final class CurlTransfer {
  /// The easy handle; `nil` after an error, which poisons it.
  var easy: UnsafeMutableRawPointer?
  /// The caller's number of the push.
  private(set) var tag: UInt64 = 0
  /// When libcurl began to send it, or else when it was handed over; in monotonic nanoseconds.
  private(set) var sentAt: UInt64 = 0
  /// The headers it goes with; a reference, because libcurl reads them until the end.
  private(set) var headers: HeaderList?
  /// Whether libcurl has asked for the body: if not, the service can't have processed the push.
  private(set) var wasRead = false

  /// The service's answers have some hundred bytes at most; what a proxy writes beyond this is dropped.
  static let responseCapacity = 1024
  /// Bytes of body after which a transfer is ended: no answer to a push is so long, so the body has no end.
  static let longestBody = 65_536

  private var payload = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private(set) var payloadCount = 0
  private var payloadRead = 0
  private let response = UnsafeMutableRawBufferPointer.allocate(byteCount: responseCapacity, alignment: 1)
  /// Bytes of body that are kept, and that have come.
  private var responseCount = 0
  private var receivedCount = 0
  private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private let idNode = UnsafeMutablePointer<curl_slist>.allocate(capacity: 1)
  /// `name: UUID`, with a zero at its end.
  private var idLine = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// What ``idLine`` begins with.
  private var idName: String?

  private let queue: CurlQueue
  private let mayRequest: (_ easy: UnsafeMutableRawPointer) -> Bool

  /// - Parameter mayRequest: says whether the connection that libcurl has chosen for the transfer may be used.
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

  /// Takes in one push: copies what libcurl will ask for.
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
      // Whole half kilobytes: payloads of one campaign differ by little.
      payload = .allocate(byteCount: (bytes.count + 511) / 512 * 512, alignment: 1)
    }
    payload.copyMemory(from: bytes)
    if headers.request.identifier != idName { nameID(headers.request.identifier) }
    if idName != nil {
      UUIDText.write(push.id, to: UnsafeMutableRawBufferPointer(rebasing: idLine.dropLast().suffix(UUIDText.count)))
    }
    // The node is this transfer's own, the rest of the list is shared; see ``HeaderList``.
    idNode.pointee.next = headers.head
    self.headers = headers
  }

  /// Makes the line of the push's own id anew; transfers of one campaign share the name.
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

  /// Lets go of what only matters while the push is on its way.
  func unload() {
    if !wasRead { queue.waiting -= 1 }
    headers = nil
  }

  /// The list to give to CURLOPT_HTTPHEADER.
  var headerList: UnsafeMutablePointer<curl_slist>? { idName == nil ? headers?.head : idNode }

  /// The body of the answer, as far as it is kept.
  var responseBody: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: response[..<responseCount]) }

  /// libcurl's own words about the last error, more exact than the code's; `nil` without.
  var errorDetail: String? { errorText[0] == 0 ? nil : String(cString: errorText) }

  /// Sets the options of a new easy handle that are the same for every push.
  ///
  /// Returns `false` when libcurl lacks memory, or one of the options: it is then unfit.
  func adopt(_ easy: UnsafeMutableRawPointer) -> Bool {
    let own = Unmanaged.passUnretained(self).toOpaque()
    let codes = [
      carillon_easy_set_pointer(easy, CURLOPT_PRIVATE, own),
      // CURLOPT_ERRORBUFFER: must stay until the handle is cleaned up; it does, see above.
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
    // All of the body was read before, so libcurl is about to send it a second time, which is not for it to decide.
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

  /// - Returns: whether the body may go on.
  fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    receivedCount += bytes.count
    guard receivedCount <= Self.longestBody else { return false }
    let count = min(bytes.count, Self.responseCapacity - responseCount)
    guard count > 0 else { return true }
    UnsafeMutableRawBufferPointer(rebasing: response[responseCount...])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    responseCount += count
    return true
  }
}

/// CURLOPT_READFUNCTION: fills at most `size * count` bytes and returns how many.
private func readBody(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
  guard let data else { return Int(CURL_READFUNC_ABORT) }
  // The pointer is the transfer that set it; it lives as long as its easy handle.
  return Unmanaged<CurlTransfer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
  }
}

/// CURLOPT_PREREQFUNCTION: called when the transfer has its connection, before anything is sent; with `ABORT` it fails
/// (CURLE_ABORTED_BY_CALLBACK).
private func askToSend(
  _ data: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?, _: UnsafeMutablePointer<CChar>?, _: Int32, _: Int32
) -> Int32 {
  guard let data else { return CURL_PREREQFUNC_ABORT }
  return Unmanaged<CurlTransfer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.maySend ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
  }
}

/// CURLOPT_SEEKFUNCTION: libcurl wants to send the body again after a stream was reset. With this answer it gives up
/// with CURLE_SEND_FAIL_REWIND instead of silently sending the push twice.
private func refuseSeek(_: UnsafeMutableRawPointer?, _: curl_off_t, _: Int32) -> Int32 { CURL_SEEKFUNC_FAIL }

/// CURLOPT_WRITEFUNCTION: whoever claims to have taken less than everything fails the transfer (CURLE_WRITE_ERROR).
private func writeResponse(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
  guard let data else { return size * count }
  return Unmanaged<CurlTransfer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.write(UnsafeRawBufferPointer(start: buffer, count: size * count)) ? size * count : 0
  }
}
