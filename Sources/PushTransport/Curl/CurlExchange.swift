internal import PushCore
internal import CCurl
internal import Glibc
internal import TLS

/// One HTTP request with its answer, through libcurl's easy interface. The call blocks its thread.
struct CurlExchange: Sendable {
  private let request: HTTPExchange.Request
  private let endpoint: PushEndpoint
  private let identity: TLSIdentity?
  private let connectTimeout: Int
  private let timeout: Int
  private let reach: HTTPExchange.Reach

  /// - Parameters:
  ///   - connectTimeout: ms for lookup, connection and TLS handshake.
  ///   - timeout: ms for the whole exchange.
  ///   - reach: the allowed destinations.
  init(
    _ request: HTTPExchange.Request, endpoint: PushEndpoint, identity: TLSIdentity?, connectTimeout: Int, timeout: Int,
    reach: HTTPExchange.Reach = .any
  ) {
    self.reach = reach
    self.request = request
    self.endpoint = endpoint
    self.identity = identity
    self.connectTimeout = connectTimeout
    self.timeout = timeout
  }

  /// Sends the request and waits for the answer.
  func perform() -> Result<HTTPExchange.Response, HTTPExchange.Failure> {
    let answer = Answer(
      body: request.body ?? [], endsAtHeaders: request.endsAtHeaders, publicOnly: reach == .publicOnly)
    let identity = identity.map { CurlIdentity($0) }
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    let list = headerList()
    // Releases these objects last, because curl_easy_cleanup(3) still calls back and reads them while it closes the
    // connection.
    defer {
      withExtendedLifetime((answer, identity)) {}
      errorText.deallocate()
      curl_slist_free_all(list)
    }
    guard let list, CurlConnection.global == CURLE_OK, let easy = curl_easy_init() else {
      return .failure(Self.noMemory)
    }
    defer { curl_easy_cleanup(easy) }
    guard prepare(easy, list, answer, errorText), identity?.apply(to: easy) ?? true else {
      return .failure(Self.noMemory)
    }
    let code = curl_easy_perform(easy)
    var status = 0
    _ = carillon_easy_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    guard code == CURLE_OK || code == CURLE_WRITE_ERROR && answer.isComplete else {
      let detail = String(cString: errorText)
      if answer.refusedAddress {
        return .failure(
          .init(message: "its address is private, and webhooks.NAME.allowPrivate is not set", isInDoubt: false)
        )
      }
      let error = CurlError(code, detail: detail.isEmpty ? nil : detail)
      return .failure(.init(message: error.description, isInDoubt: answer.wasRead))
    }
    return .success(.init(status: UInt16(clamping: status), headers: answer.headers, body: answer.body))
  }

  private static let noMemory = HTTPExchange.Failure(message: "libcurl is out of memory", isInDoubt: false)

  private func prepare(
    _ easy: UnsafeMutableRawPointer, _ list: UnsafeMutablePointer<curl_slist>, _ answer: Answer,
    _ errorText: UnsafeMutablePointer<CChar>?
  ) -> Bool {
    let own = Unmanaged.passUnretained(answer).toOpaque()
    var codes = [
      carillon_easy_set_string(easy, CURLOPT_URL, endpoint.url + request.path),
      carillon_easy_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS),
      carillon_easy_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
      carillon_easy_set_long(easy, CURLOPT_NOSIGNAL, 1),
      carillon_easy_set_long(easy, CURLOPT_TIMEOUT_MS, timeout),
      carillon_easy_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, connectTimeout),
      // When a lookup is cancelled, libcurl does not wait for its end. ``CurlConnection`` has the same setting.
      carillon_easy_set_long(easy, CURLOPT_QUICK_EXIT, 1),
      carillon_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText),
      carillon_easy_set_headers(easy, list),
      carillon_easy_set_header(easy, takeHeader, own),
      carillon_easy_set_write(easy, takeBody, own),
    ]
    if request.body != nil {
      codes += [
        carillon_easy_set_long(easy, CURLOPT_POST, 1),
        carillon_easy_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(answer.toSend.count)),
        carillon_easy_set_read(easy, giveBody, own),
        // libcurl must never send a body a second time. ``CurlConnection`` has the same rule.
        carillon_easy_set_seek(easy, refuseRewind, own),
      ]
    }
    // The option also works with a body: CURLOPT_POST has set POST already, and CURLOPT_CUSTOMREQUEST changes only the
    // method's name.
    codes.append(carillon_easy_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method))
    codes += endpoint.apply(to: easy)
    if reach != .any {
      // CURLOPT_NOPROXY: an asterisk means every host, and overrides the environment.
      codes.append(carillon_easy_set_string(easy, CURLOPT_NOPROXY, "*"))
      codes.append(carillon_easy_set_long(easy, CURLOPT_FOLLOWLOCATION, 0))
    }
    codes.append(carillon_easy_set_open_socket(easy, openSocket, own))
    codes.append(carillon_easy_set_tls_context(easy, adoptContext, own))
    return codes.allSatisfy { $0 == CURLE_OK }
  }

  private func headerList() -> UnsafeMutablePointer<curl_slist>? {
    var list: UnsafeMutablePointer<curl_slist>?
    // A name without a value removes a header that libcurl would add (CURLOPT_HTTPHEADER).
    var lines = request.headers.map { "\($0.name): \($0.value)" } + ["accept:", "expect:"]
    if !request.headers.contains(where: { $0.name == "content-type" }) { lines.append("content-type:") }
    for line in lines {
      // curl_slist_append(3) copies the string and returns the first node. On failure it returns null and leaves the
      // list unchanged.
      guard let longer = curl_slist_append(list, line) else {
        curl_slist_free_all(list)
        return nil
      }
      list = longer
    }
    return list
  }

  /// Buffers and results for libcurl's callbacks; used only within `curl_easy_perform`, on its thread.
  fileprivate final class Answer {
    /// Maximum number of bytes of a body that are read.
    private static let maximumBody = 1 << 16
    /// Number of bytes of headers, including interim answers, after which the transfer is ended. Real answers have a
    /// few kB.
    private static let maximumHeaders = 1 << 16

    let toSend: [UInt8]
    private let endsAtHeaders: Bool
    private let publicOnly: Bool
    /// Limit for the data that libcurl reads. libcurl reads as long as the socket has data, even beyond its own
    /// timeout.
    private var budget = TurnBudget()
    private(set) lazy var records = RecordObserver { [unowned self] in count(recordBytes: $0) }
    /// Last socket that was opened.
    private var descriptor: Int32 = -1
    private var headerCount = 0
    /// Whether enough data was read. libcurl then ends the transfer with `CURLE_WRITE_ERROR`, because a callback took
    /// less data than it was given (CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION).
    private(set) var isComplete = false
    private var status = 0
    private(set) var sent = 0
    private(set) var wasRead = false
    /// Whether an address was refused.
    private(set) var refusedAddress = false
    private(set) var headers: [HTTPExchange.Header] = []
    private(set) var body: [UInt8] = []

    init(body: [UInt8], endsAtHeaders: Bool, publicOnly: Bool) {
      toSend = body
      self.endsAtHeaders = endsAtHeaders
      self.publicOnly = publicOnly
    }

    func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
      guard let place = address.pointer(to: \.addr) else { return CURL_SOCKET_BAD }
      // CURLOPT_OPENSOCKETFUNCTION: `addr` has `addrlen` bytes. `sin_addr` follows family and port; `sin6_addr` follows
      // family, port and flow (RFC 3493 section 3.3).
      let raw = UnsafeRawBufferPointer(start: place, count: Int(address.pointee.addrlen))
      let bytes = address.pointee.family == AF_INET ? raw.dropFirst(4).prefix(4) : raw.dropFirst(8).prefix(16)
      guard !publicOnly || !PrivateAddress.contains(bytes) else {
        refusedAddress = true
        return CURL_SOCKET_BAD
      }
      let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
      descriptor = socket(address.pointee.family, type, address.pointee.protocol)
      return descriptor
    }

    private func count(recordBytes count: Int) {
      guard !budget.take(bytes: count) else { return }
      // A socket that is shut down has no more data to read.
      _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
      if wasRead, sent == toSend.count, sent > 0 { return Int(CURL_READFUNC_ABORT) }
      wasRead = true
      let count = min(buffer.count, toSend.count - sent)
      buffer.copyBytes(from: toSend[sent..<sent + count])
      sent += count
      return count
    }

    /// Takes one header line of the answer.
    ///
    /// - Returns: whether the transfer continues.
    func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
      headerCount += bytes.count
      guard headerCount <= Self.maximumHeaders else { return false }
      let line = String(decoding: bytes, as: UTF8.self)
      // A status line begins another answer. Answers of a proxy and 1xx answers come first.
      if line.hasPrefix("HTTP/") {
        headers = []
        status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return true
      }
      guard let colon = line.firstIndex(of: ":") else {
        // An empty line ends the headers. After the headers of a 1xx answer, another answer follows.
        isComplete = endsAtHeaders && status >= 200 && line.allSatisfy(\.isNewline)
        return !isComplete
      }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      headers.append(.init(line[..<colon].lowercased(), String(value.prefix { !$0.isNewline })))
      return true
    }

    /// Takes a part of the answer's body.
    ///
    /// - Returns: whether the transfer continues.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
      body += bytes.prefix(Self.maximumBody - body.count)
      isComplete = body.count == Self.maximumBody
      return !isComplete
    }
  }
}

/// Callback for CURLOPT_OPENSOCKETFUNCTION. libcurl calls it with the address of the next connection, after the name
/// was looked up. libcurl therefore uses exactly the address that was checked. `CURL_SOCKET_BAD` ends the attempt.
private func openSocket(
  _ data: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let data, let address else { return CURL_SOCKET_BAD }
  return Unmanaged<CurlExchange.Answer>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.open(address) }
}

/// Callback for CURLOPT_SSL_CTX_FUNCTION. libcurl calls it with OpenSSL's `SSL_CTX` before a handshake.
private func adoptContext(
  _: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ data: UnsafeMutableRawPointer?
) -> CURLcode {
  guard let data, let context else { return CURLE_ABORTED_BY_CALLBACK }
  Unmanaged<CurlExchange.Answer>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.records.install(in: context) }
  return CURLE_OK
}

/// Callback for CURLOPT_READFUNCTION. It fills at most `size * count` bytes of the buffer and returns their number.
private func giveBody(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
  guard let data else { return Int(CURL_READFUNC_ABORT) }
  // The pointer is the answer of the running exchange, which outlives its easy handle.
  return Unmanaged<CurlExchange.Answer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
  }
}

/// Callback for CURLOPT_SEEKFUNCTION. With this result, the transfer fails, and libcurl does not send the body again.
private func refuseRewind(_: UnsafeMutableRawPointer?, _: curl_off_t, _: Int32) -> Int32 { CURL_SEEKFUNC_FAIL }

/// Callback for CURLOPT_HEADERFUNCTION. It gets one complete header line. A result below the length of the line ends
/// the transfer.
private func takeHeader(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
  guard let data else { return size * count }
  return Unmanaged<CurlExchange.Answer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.takeHeader(UnsafeRawBufferPointer(start: buffer, count: size * count)) ? size * count : 0
  }
}

/// Callback for CURLOPT_WRITEFUNCTION. It gets bytes of the body. A result below their number ends the transfer.
private func takeBody(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
  guard let data else { return size * count }
  return Unmanaged<CurlExchange.Answer>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.takeBody(UnsafeRawBufferPointer(start: buffer, count: size * count)) ? size * count : 0
  }
}
