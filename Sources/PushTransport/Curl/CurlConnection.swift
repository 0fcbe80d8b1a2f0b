internal import CCurl
internal import EventLoop
internal import PushCore
internal import TLS

/// One connection to the service: a multi handle of libcurl, its socket and its transfers.
///
/// The type sends pushes and reports events; ``ConnectionDriver`` makes the decisions. The connection is confined to
/// the engine's loop, because two threads must not use the same libcurl handle (libcurl-thread(3)). Only the engine
/// uses it, and libcurl's callbacks while the engine calls libcurl. The many properties are libcurl's handles with
/// their memory, the transfers, and facts about the connection that libcurl reports one by one.
final class CurlConnection: PushConnection {
  enum Event: Sendable {
    /// A socket of libcurl is ready (CURL_CSELECT_IN, CURL_CSELECT_OUT).
    case ready(descriptor: Int32, events: Int32)
    /// The timer has fired.
    case timer
  }

  let authorization: PushAuthorization
  var isEstablished = false
  var waitingCount: Int { queue.waiting }
  /// libcurl obeys the peer's stream limit, but does not report it.
  var room: StreamRoom { .queue(waiting: queue.waiting) }
  /// libcurl begins waiting pushes on its own.
  var canResume: Bool { false }
  var isDue: Bool { timer.isDue }

  /// Not private, because libcurl's callbacks use the property.
  let sockets: CurlSockets
  /// Not private, because libcurl's callbacks use the property.
  var timer: CurlTimer
  /// The limit for the data of the present turn. The next property is whether the service has exceeded the limit in any
  /// turn.
  private var budget = TurnBudget()
  private var isOverrun = false
  /// Whether ALPN selected HTTP/2. If not, `refusal` is the reason why the connection is not used.
  private var isAgreed = false
  private var refusal: ProtocolRefusal?
  /// Whether the service ended the connection before it processed any stream (GOAWAY with last stream 0). This is known
  /// only for a connection with a certificate.
  private var wasTurnedAway = false
  private var isRetired = false
  private let multi: UnsafeMutableRawPointer
  private let identity: CurlIdentity?
  private let configuration: ConnectionPool.Configuration
  private let context: ConnectionContext<Event>
  /// Observer of TLS records. It lives as long as the connection, and therefore longer than libcurl's TLS contexts.
  private lazy var records = RecordObserver { [unowned self] in count(recordBytes: $0) }
  private let queue = CurlQueue()
  private var transfers: [CurlTransfer] = []
  private var idle: [CurlTransfer] = []
  /// Completions of pushes that ended without a message of libcurl.
  private var returned: [PushCompletion] = []
  /// Reason why the first push was lost since the last query.
  private var lossReason: String?
  private var headers: HeaderList?
  /// URL of the present request with a zero byte at its end, and the number of bytes of its constant part.
  private var url: [UInt8] = []
  private var urlPrefix = 0
  private var isClosed = false

  private static let turnedAwayText =
    "the service ended the connection before the first push (GOAWAY), as it does with certificates of the other environment"

  /// libcurl's global state, initialised once per process. It is thread-safe since 7.84 (curl_global_init(3)), and
  /// `static let` is thread-safe in any case.
  static let global = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  /// - Throws: ``CurlError`` if libcurl can't be initialised, which means that memory is exhausted.
  init(
    _ configuration: ConnectionPool.Configuration, _ authorization: PushAuthorization,
    _ context: ConnectionContext<Event>
  ) throws {
    guard Self.global == CURLE_OK, let multi = curl_multi_init() else { throw CurlError(CURLE_OUT_OF_MEMORY) }
    self.multi = multi
    self.configuration = configuration
    self.authorization = authorization
    self.context = context
    identity = authorization.identity.map(CurlIdentity.init)
    sockets = CurlSockets(context)
    let onEvent = context.onEvent
    timer = CurlTimer(LoopTimer(on: context.loop) { onEvent(.timer) })
    let own = Unmanaged.passUnretained(self).toOpaque()
    _ = carillon_multi_set_socket(multi, socketChanged, own)
    _ = carillon_multi_set_timer(multi, timerChanged, own)
    // Allows one connection. Otherwise libcurl would open a second connection as soon as the peer's stream limit is
    // reached.
    _ = carillon_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1)
    // libcurl's own limit is 100 streams, regardless of the peer's (CURLMOPT_MAX_CONCURRENT_STREAMS).
    _ = carillon_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.maximumStreams)
    _ = carillon_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
  }

  // MARK: Pushes

  /// Hands pushes to libcurl; ``run(now:)`` sends them.
  func send(_ part: PushBatch.Part, with authorization: PushAuthorization, now: UInt64) {
    let headers = headerList(part.batch.request, authorization)
    part.batch.bytes.withUnsafeBytes { bytes in
      for push in part.batch.pushes[part.range] {
        if let headers, start(push, of: bytes, headers: headers, now: now) { continue }
        returned.append(PushCompletion(tag: push.tag, answer: PushAnswer(kind: .notSent)))
      }
    }
  }

  func resume(with authorization: PushAuthorization, now: UInt64) {}

  /// Does nothing, because libcurl begins every push that it was handed.
  func giveBack() {}

  func flush() {}

  private func headerList(_ request: PushRequest, _ authorization: PushAuthorization) -> HeaderList? {
    if let list = headers, list.generation == authorization.generation, list.request === request { return list }
    headers = HeaderList(request, authorization: authorization)
    url = Array((configuration.endpoint.url + request.path).utf8)
    urlPrefix = url.count
    url.append(0)
    return headers
  }

  /// Hands one push to libcurl.
  ///
  /// - Returns: `false` if libcurl is out of memory; then nothing was sent.
  private func start(_ push: Push, of bytes: UnsafeRawBufferPointer, headers: HeaderList, now: UInt64) -> Bool {
    let transfer = idle.popLast() ?? makeTransfer()
    guard let easy = transfer.easy ?? makeEasy(for: transfer) else {
      idle.append(transfer)
      return false
    }
    let payload = UnsafeRawBufferPointer(rebasing: bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)])
    let token = UnsafeRawBufferPointer(rebasing: bytes[Int(push.token.lowerBound)..<Int(push.token.upperBound)])
    transfer.load(push, payload: payload, headers: headers, now: now)
    if headers.request.tokenInPath != nil { setPath(token) }
    // CURLOPT_URL copies the string.
    let codes = url.withUnsafeBytes { url in
      (
        carillon_easy_set_string(easy, CURLOPT_URL, url.baseAddress?.assumingMemoryBound(to: CChar.self)),
        carillon_easy_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(transfer.payloadCount)),
        carillon_easy_set_headers(easy, transfer.headerList)
      )
    }
    // libcurl shows a GOAWAY only in its verbose text, which takes more time than a push. The verbose text is therefore
    // enabled only until the first accepted push. Until then, one push is sent at a time.
    if identity != nil { _ = carillon_easy_set_long(easy, CURLOPT_VERBOSE, isEstablished ? 0 : 1) }
    guard codes == (CURLE_OK, CURLE_OK, CURLE_OK), curl_multi_add_handle(multi, easy) == CURLM_OK else {
      recycle(transfer, isPoisoned: true)
      return false
    }
    return true
  }

  func takeEnded(_ completions: inout [PushCompletion], _ ended: inout [EndedPush], now: UInt64) {
    for completion in returned {
      completions.append(completion)
      ended.append(EndedPush(sentAt: now, generation: authorization.generation))
    }
    returned = []
    guard !isClosed else { return }
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      // curl_multi_info_read(3): curl_multi_remove_handle frees the message, so its parts are copied first.
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      let code = message.pointee.data.result
      var pointer: UnsafeMutableRawPointer?
      _ = carillon_easy_get_private(easy, &pointer)
      guard let pointer else { continue }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
      ended.append(EndedPush(sentAt: transfer.sentAt, generation: transfer.headers?.generation ?? 0))
      if code == CURLE_OK {
        completions.append(CurlAnswer(transfer, configuration.service).completion(tag: transfer.tag))
      } else {
        let error = CurlError(code, detail: transfer.errorDetail)
        completions.append(CurlAnswer.failure(transfer, wasRefused: reportRefusal(error)))
        ended[ended.count - 1].loss = loss(of: transfer, error)
      }
      curl_multi_remove_handle(multi, easy)
      // After an error, the handle is not reused: in some versions of libcurl a reuse crashes, in others it returns
      // false errors.
      recycle(transfer, isPoisoned: code != CURLE_OK)
    }
  }

  private func loss(of transfer: CurlTransfer, _ error: CurlError) -> Loss {
    // If the connection had accepted a push and was closed before libcurl began this push, nothing was lost.
    guard transfer.wasRead || !isEstablished else { return [] }
    if lossReason == nil { lossReason = error.description }
    // After a timeout the connection may be dead, and libcurl would not report that.
    return error.isTimeout ? [.ofConnection, .silence] : .ofConnection
  }

  func takeLossReason() -> String? {
    defer { lossReason = nil }
    return lossReason
  }

  /// Reports to the credential if the service ended the connection because of its certificate.
  ///
  /// - Returns: whether the connection was ended for this reason before the service processed any push on it.
  private func reportRefusal(_ error: CurlError) -> Bool {
    guard authorization.identity != nil else { return false }
    let generation = authorization.generation
    if let alert = error.detail.flatMap(TLSAlert.init(libcurl:)) {
      context.onCredentialEvent(.certificateRefused(alert, generation: generation))
      return !isEstablished
    }
    guard !isEstablished, wasTurnedAway else { return false }
    context.onCredentialEvent(.turnedAway(generation: generation))
    return true
  }

  // MARK: Turns

  func handle(_ event: Event, now: UInt64) {
    switch event {
    case .ready(let descriptor, let events): act(descriptor, events)
    case .timer: timer.fired(now: now)
    }
  }

  /// Lets libcurl do all work that is due now: read, write and handle timeouts.
  func run(now: UInt64) -> UInt64 {
    if timer.takeDue() { act(CURL_SOCKET_BAD, 0) }
    return EventLoop.now
  }

  private func act(_ descriptor: Int32, _ events: Int32) {
    guard !isClosed else { return }
    var running: Int32 = 0
    budget.restart()
    // For a timeout, the descriptor is CURL_SOCKET_TIMEOUT, which is the bad descriptor (curl_multi_socket_action(3)).
    // libcurl forbids this call within a callback; this code runs outside of callbacks.
    curl_multi_socket_action(multi, descriptor, events, &running)
  }

  /// Does nothing, because libcurl handles its own timeouts.
  func tick(now: UInt64) {}

  func endTurn() { if !isClosed { timer.arm() } }

  var condition: ConnectionCondition {
    if wasTurnedAway, !isEstablished { return .goingAway(Self.turnedAwayText) }
    if let refusal { return .broken("\(refusal)") }
    if isOverrun { return .broken(TurnBudget.text) }
    // Before the first accepted push, a missing socket has no meaning, because libcurl opens and closes sockets while
    // it connects.
    return isEstablished && sockets.isEmpty ? .broken(nil) : .working
  }

  // MARK: Closing

  /// Prevents libcurl from opening further sockets. With a new socket, libcurl would send all waiting pushes at the
  /// same time, but a new connection allows only one push at first. Without a socket, the transfers fail, and the
  /// pushes end as not sent.
  func retire() { isRetired = true }

  func abandon() {
    for transfer in transfers where transfer.headers != nil {
      returned.append(CurlAnswer.failure(transfer))
      if let easy = transfer.easy { curl_multi_remove_handle(multi, easy) }
      recycle(transfer, isPoisoned: true)
    }
  }

  /// Closes everything; must be called before the last reference is released.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    sockets.stop()
    // curl_multi_cleanup(3): easy handles must be removed first. The cleanup closes the connections, so libcurl still
    // calls back for their sockets.
    for transfer in transfers {
      guard let easy = transfer.easy else { continue }
      if transfer.headers != nil { curl_multi_remove_handle(multi, easy) }
      curl_easy_cleanup(easy)
      transfer.easy = nil
    }
    curl_multi_cleanup(multi)
  }

  // MARK: Handles

  private func makeTransfer() -> CurlTransfer {
    let transfer = CurlTransfer(queue) { [unowned self] in mayRequest($0) }
    transfers.append(transfer)
    return transfer
  }

  private func recycle(_ transfer: CurlTransfer, isPoisoned: Bool) {
    transfer.unload()
    if isPoisoned, let easy = transfer.easy {
      curl_easy_cleanup(easy)
      transfer.easy = nil
    }
    idle.append(transfer)
  }

  private func makeEasy(for transfer: CurlTransfer) -> UnsafeMutableRawPointer? {
    guard let easy = curl_easy_init() else { return nil }
    let own = Unmanaged.passUnretained(self).toOpaque()
    let codes = [
      carillon_easy_set_open_socket(easy, openConnectionSocket, own),
      carillon_easy_set_close_socket(easy, closeConnectionSocket, own),
      carillon_easy_set_tls_context(easy, adoptConnectionContext, own),
      identity == nil ? CURLE_OK : carillon_easy_set_debug(easy, receiveDebugData, own),
    ]
    guard codes.allSatisfy({ $0 == CURLE_OK }), configuration.apply(to: easy), identity?.apply(to: easy) ?? true,
      transfer.adopt(easy)
    else {
      curl_easy_cleanup(easy)
      transfer.easy = nil
      return nil
    }
    return easy
  }

  /// Writes a token after the part of the URL that all pushes share.
  private func setPath(_ token: UnsafeRawBufferPointer) {
    let end = urlPrefix + 2 * token.count
    if url.count <= end { url.append(contentsOf: repeatElement(0, count: end + 1 - url.count)) }
    url.withUnsafeMutableBytes { url in
      Hex.encode(token, to: UnsafeMutableRawBufferPointer(rebasing: url[urlPrefix...]))
      url[end] = 0
    }
  }

  /// Opens a socket if the engine has allowed a connection. Without this check, libcurl would replace a dead connection
  /// on its own.
  func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
    guard !isEstablished, !isRetired, !isClosed else { return CURL_SOCKET_BAD }
    // All connections use the same proxy, so its addresses are not spread.
    if configuration.endpoint.proxy == nil, !context.mayConnect(CurlSockets.text(of: address)) {
      return CURL_SOCKET_BAD
    }
    isAgreed = false
    return sockets.open(address)
  }

  /// Returns whether the connection of a transfer may be used; `false` fails the transfer before anything of it is
  /// sent.
  private func mayRequest(_ easy: UnsafeMutableRawPointer) -> Bool {
    if isAgreed { return true }
    var ssl: UnsafeMutableRawPointer?
    _ = carillon_easy_get_openssl(easy, &ssl)
    let url = configuration.endpoint.url
    refusal = ProtocolRefusal(
      Authority(url: url, scheme: "https", defaultPort: 443)?.withPort ?? url,
      negotiated: ssl.flatMap { ForeignTLS.negotiatedProtocol(of: $0) })
    isAgreed = refusal == nil
    return isAgreed
  }

  func watchRecords(of context: UnsafeMutableRawPointer) { records.install(in: context) }

  /// Counts a TLS record. libcurl reads records until the socket has no more data. A socket that is shut down has none.
  private func count(recordBytes count: Int) {
    guard !budget.take(bytes: count), !isOverrun else { return }
    isOverrun = true
    sockets.shutDown()
  }

  func receiveDebugText(_ text: UnsafeRawBufferPointer) {
    guard let goAway = CurlGoAway(verbose: String(decoding: text, as: UTF8.self)) else { return }
    if goAway.lastStream == 0, goAway.error == 0 { wasTurnedAway = true }
  }
}
