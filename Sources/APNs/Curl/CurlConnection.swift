internal import CCurl
internal import Dispatch
internal import EventLoop
internal import Glibc

/// One connection to APNs: a multi handle of libcurl, its socket and its transfers.
///
/// Thin: it carries pushes and says what happened; ``CurlEngine`` decides. Confined to the engine's loop, as libcurl's
/// handles are (libcurl-thread(3)): nothing but the engine and libcurl's callbacks, called from within the engine's own
/// calls, touches it.
final class CurlConnection {
  /// How far the connection has come.
  enum Phase {
    case closed
    /// Being opened, or open without an accepted push yet.
    case opening
    /// APNs has accepted a push on it.
    case established
  }

  /// Set by the engine.
  var phase = Phase.closed
  /// Pushes on their way.
  private(set) var inFlight = 0
  /// Of them, those that libcurl has not begun to send.
  var waiting: Int { queue.waiting }
  /// Sockets to APNs that libcurl has open; more than one only while it tries several addresses.
  private(set) var openSockets = 0
  /// With what it was opened; it is never used with another.
  let authorization: PushAuthorization
  /// APNs has ended it without looking at any stream (GOAWAY with last stream 0). Known with a certificate only.
  private(set) var wasTurnedAway = false
  /// libcurl wants `run()` to be called at once.
  private(set) var isDue = false

  private let multi: UnsafeMutableRawPointer
  private let identity: CurlIdentity?
  private let loop: EventLoop
  private let configuration: ConnectionPool.Configuration
  private let onReady: @Sendable (_ descriptor: Int32, _ events: Int32) -> Void
  private let mayConnect: (_ address: String) -> Bool
  private let timer: LoopTimer
  private var watchers: [Int32: SocketWatcher] = [:]
  private let queue = CurlQueue()
  private var transfers: [CurlTransfer] = []
  private var idle: [CurlTransfer] = []
  private var path: [UInt8]
  private let pathPrefix: Int
  private var deadline: UInt64?
  private var armedFor: UInt64?
  private var isClosed = false

  /// Seconds without traffic before the first of TCP's probes, and between them: as often as node-apn sends its PING, and
  /// less than the five minutes after which NATs forget a connection at the earliest (RFC 5382 asks for two hours).
  private static let keepaliveIdle = 60
  private static let keepaliveInterval = 15
  /// Seconds; longer than ``ConnectionPool/Configuration/idleLimit``, so that libcurl never decides.
  private static let longestIdle = 7 * 86_400

  /// libcurl's own state, once per process; thread-safe since 7.84 (curl_global_init(3)), and `static let` is in any case.
  static let global = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  /// - Parameters:
  ///   - onReady: called on the loop when a socket of libcurl's is ready, for `run(descriptor:events:)`.
  ///   - onTimer: called on the loop when libcurl's timer has fired, for `timerFired()`.
  ///   - mayConnect: whether to connect to an address, in numbers; libcurl tries the next one if not.
  /// - Returns: `nil` when libcurl can't be initialised, which means that memory is used up.
  init?(
    _ configuration: ConnectionPool.Configuration, _ authorization: PushAuthorization, loop: EventLoop,
    onReady: @escaping @Sendable (_ descriptor: Int32, _ events: Int32) -> Void,
    onTimer: @escaping @Sendable () -> Void, mayConnect: @escaping (_ address: String) -> Bool
  ) {
    guard Self.global == CURLE_OK, let multi = curl_multi_init() else { return nil }
    self.multi = multi
    self.loop = loop
    self.configuration = configuration
    self.authorization = authorization
    identity = authorization.identity.map(CurlIdentity.init)
    self.onReady = onReady
    self.mayConnect = mayConnect
    timer = LoopTimer(on: loop, handler: onTimer)
    path = Array((configuration.endpoint.url + "/3/device/").utf8)
    pathPrefix = path.count
    let own = Unmanaged.passUnretained(self).toOpaque()
    _ = carillon_multi_set_socket(multi, socketChanged, own)
    _ = carillon_multi_set_timer(multi, timerChanged, own)
    // One connection: without this libcurl would open more as soon as the peer allows too few streams.
    _ = carillon_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1)
    // libcurl's own limit is 100 streams, whatever the peer allows (CURLMOPT_MAX_CONCURRENT_STREAMS).
    _ = carillon_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, configuration.maximumStreams)
    _ = carillon_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
  }

  /// Hands one push to libcurl; `run()` sends it.
  ///
  /// - Returns: `false` when libcurl is out of memory: then nothing was sent.
  func start(_ push: Push, of bytes: UnsafeRawBufferPointer, headers: HeaderList, now: UInt64) -> Bool {
    let transfer = idle.popLast() ?? makeTransfer()
    guard let easy = transfer.easy ?? makeEasy(for: transfer) else {
      idle.append(transfer)
      return false
    }
    let payload = UnsafeRawBufferPointer(rebasing: bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)])
    let token = UnsafeRawBufferPointer(rebasing: bytes[Int(push.token.lowerBound)..<Int(push.token.upperBound)])
    transfer.load(push, payload: payload, headers: headers, now: now)
    setPath(token)
    // Apple, "Sending broadcast push notification requests to APNs".
    let broadcast = headers.headers.channel.map { _ in
      "\(configuration.endpoint.url)/4/broadcasts/apps/\(headers.headers.topic)"
    }
    // CURLOPT_URL copies the string.
    let codes = path.withUnsafeBytes { path in
      (
        broadcast.map { carillon_easy_set_string(easy, CURLOPT_URL, $0) }
          ?? carillon_easy_set_string(easy, CURLOPT_URL, path.baseAddress?.assumingMemoryBound(to: CChar.self)),
        carillon_easy_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(transfer.payloadCount)),
        carillon_easy_set_headers(easy, transfer.headerList)
      )
    }
    // The verbose text is what GOAWAY is known by, and costs more than a push: until the first is accepted only, when one
    // is sent at a time.
    if identity != nil { _ = carillon_easy_set_long(easy, CURLOPT_VERBOSE, phase == .opening ? 1 : 0) }
    guard codes == (CURLE_OK, CURLE_OK, CURLE_OK), curl_multi_add_handle(multi, easy) == CURLM_OK else {
      retire(transfer, poisoned: true)
      return false
    }
    inFlight += 1
    return true
  }

  /// Lets libcurl read and write what it can: at most everything that is due now.
  func run(descriptor: Int32 = CURL_SOCKET_BAD, events: Int32 = 0) {
    guard !isClosed else { return }
    var running: Int32 = 0
    if descriptor == CURL_SOCKET_BAD { isDue = false }
    // CURL_SOCKET_TIMEOUT is the bad descriptor (curl_multi_socket_action(3)). Not called from within a callback.
    curl_multi_socket_action(multi, descriptor, events, &running)
  }

  /// Hands out the transfers that have ended, each only for the duration of `body`.
  func takeEnded(_ body: (CurlTransfer, CURLcode) -> Void) {
    guard !isClosed else { return }
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      // curl_multi_info_read(3): the message is gone after curl_multi_remove_handle, so its parts are copied first.
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      let code = message.pointee.data.result
      var pointer: UnsafeMutableRawPointer?
      _ = carillon_easy_get_private(easy, &pointer)
      guard let pointer else { continue }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
      body(transfer, code)
      curl_multi_remove_handle(multi, easy)
      inFlight -= 1
      // After an error the handle is poisoned: using it again crashes some versions and gives false errors in others.
      retire(transfer, poisoned: code != CURLE_OK)
    }
  }

  /// Takes back every transfer that has not ended, each only for the duration of `body`.
  func abandon(_ body: (CurlTransfer) -> Void) {
    for transfer in transfers where transfer.headers != nil {
      body(transfer)
      if let easy = transfer.easy { curl_multi_remove_handle(multi, easy) }
      inFlight -= 1
      retire(transfer, poisoned: true)
    }
  }

  /// Arms the timer for what libcurl has asked for; call after everything else.
  func armTimer() {
    guard let deadline, !isClosed else { return }
    // A timer that fires too early is asked again, so it is only ever moved forward: libcurl changes its mind with
    // every push, and arming costs a system call.
    if let armedFor, armedFor <= deadline { return }
    armedFor = deadline
    let now = EventLoop.now
    timer.schedule(after: .nanoseconds(deadline > now ? Int(deadline - now) : 0))
  }

  /// The timer has fired: notes whether libcurl's time has come.
  func timerFired() {
    armedFor = nil
    if let deadline, EventLoop.now >= deadline {
      self.deadline = nil
      isDue = true
    }
  }

  /// Closes everything; must be called before the last reference goes. Idempotent.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    // curl_multi_cleanup(3): easy handles must be removed before; connections are closed here, so libcurl still calls
    // back for their sockets.
    for transfer in transfers {
      guard let easy = transfer.easy else { continue }
      if transfer.headers != nil { curl_multi_remove_handle(multi, easy) }
      curl_easy_cleanup(easy)
      transfer.easy = nil
    }
    curl_multi_cleanup(multi)
    for watcher in watchers.values { watcher.close() }
    watchers = [:]
  }

  private func makeTransfer() -> CurlTransfer {
    let transfer = CurlTransfer(queue)
    transfers.append(transfer)
    return transfer
  }

  private func retire(_ transfer: CurlTransfer, poisoned: Bool) {
    transfer.unload()
    if poisoned, let easy = transfer.easy {
      curl_easy_cleanup(easy)
      transfer.easy = nil
    }
    idle.append(transfer)
  }

  private func makeEasy(for transfer: CurlTransfer) -> UnsafeMutableRawPointer? {
    guard let easy = curl_easy_init() else { return nil }
    let own = Unmanaged.passUnretained(self).toOpaque()
    var codes = [
      // ALPN decides; cleartext HTTP/2 is never spoken (it fails on reused connections in 7.88).
      carillon_easy_set_long(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS),
      // APNs asks for TLS 1.2 or later.
      carillon_easy_set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2),
      carillon_easy_set_long(easy, CURLOPT_POST, 1),
      // Wait for the connection's streams instead of opening another connection.
      carillon_easy_set_long(easy, CURLOPT_PIPEWAIT, 1),
      // Timeouts of the resolver must not use signals in a program with threads.
      carillon_easy_set_long(easy, CURLOPT_NOSIGNAL, 1),
      carillon_easy_set_long(easy, CURLOPT_TIMEOUT_MS, Int(configuration.requestTimeout / 1_000_000)),
      carillon_easy_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectTimeout / 1_000_000)),
      // A fresh look-up for every connection spreads them over Apple's servers; 0 turns libcurl's cache off.
      carillon_easy_set_long(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0),
      // Without this all of them would begin with the first address that the resolver gives.
      carillon_easy_set_long(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1),
      // libcurl sends no PING on a multi handle's connections (curl_easy_upkeep(3) knows those of easy handles only), so
      // TCP's own probes keep an idle connection in the memory of NATs, and notice when the peer is gone.
      carillon_easy_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1),
      carillon_easy_set_long(easy, CURLOPT_TCP_KEEPIDLE, Self.keepaliveIdle),
      carillon_easy_set_long(easy, CURLOPT_TCP_KEEPINTVL, Self.keepaliveInterval),
      // libcurl takes no connection that was idle for 118 s; for how long one is good is the engine's to say.
      carillon_easy_set_long(easy, CURLOPT_MAXAGE_CONN, Self.longestIdle),
      // The smallest that libcurl takes: it allocates both for every push, and answers and payloads are small.
      carillon_easy_set_long(easy, CURLOPT_BUFFERSIZE, 1024),
      carillon_easy_set_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, 16 * 1024),
      carillon_easy_set_open_socket(easy, openSocket, own),
      carillon_easy_set_close_socket(easy, closeSocket, own),
    ]
    if let trustRoots = configuration.endpoint.trustRoots {
      codes.append(carillon_easy_set_string(easy, CURLOPT_CAINFO, trustRoots))
    }
    if let proxy = configuration.endpoint.proxy { codes += proxy.apply(to: easy) }
    if let identity {
      codes.append(carillon_easy_set_debug(easy, noteVerbose, own))
      if !identity.apply(to: easy) { codes.append(CURLE_OUT_OF_MEMORY) }
    }
    guard codes.allSatisfy({ $0 == CURLE_OK }), transfer.adopt(easy) else {
      curl_easy_cleanup(easy)
      transfer.easy = nil
      return nil
    }
    return easy
  }

  /// Writes the URL of a device into the buffer that all pushes share.
  private func setPath(_ token: UnsafeRawBufferPointer) {
    let count = pathPrefix + 2 * token.count + 1
    if path.count < count { path.append(contentsOf: repeatElement(0, count: count - path.count)) }
    path.withUnsafeMutableBufferPointer { path in
      var place = pathPrefix
      for byte in token {
        path[place] = PushID.hexDigit(byte >> 4)
        path[place + 1] = PushID.hexDigit(byte & 15)
        place += 2
      }
      path[place] = 0
    }
  }

  fileprivate func watch(_ descriptor: Int32, _ interest: Int32) {
    if interest == CURL_POLL_REMOVE {
      watchers.removeValue(forKey: descriptor)?.close()
      return
    }
    guard !isClosed, let watcher = watchers[descriptor] ?? makeWatcher(descriptor) else { return }
    watcher.wantsRead = interest & CURL_POLL_IN != 0
    watcher.wantsWrite = interest & CURL_POLL_OUT != 0
  }

  private func makeWatcher(_ descriptor: Int32) -> SocketWatcher? {
    // libcurl closes its sockets, and the pipes of its resolver, without asking; so a duplicate is watched. Without
    // one (descriptors used up) the transfers on it run into their timeout.
    guard let socket = try? Socket.duplicate(of: descriptor) else { return nil }
    let onReady = self.onReady
    let watcher = SocketWatcher(
      socket, on: loop, onReadable: { onReady(descriptor, CURL_CSELECT_IN) },
      onWritable: { onReady(descriptor, CURL_CSELECT_OUT) })
    watchers[descriptor] = watcher
    return watcher
  }

  fileprivate func setTimer(milliseconds: Int) {
    if milliseconds < 0 {
      deadline = nil
    } else if milliseconds == 0 {
      deadline = nil
      isDue = true
    } else {
      deadline = EventLoop.now + UInt64(milliseconds) * 1_000_000
    }
  }

  /// Opens a socket, if the engine has allowed a connection: libcurl replaces a dead one without asking.
  fileprivate func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
    guard phase == .opening, !isClosed else { return CURL_SOCKET_BAD }
    // Of a proxy there is one.
    if configuration.endpoint.proxy == nil, !mayConnect(Self.text(of: address)) { return CURL_SOCKET_BAD }
    let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
    if descriptor >= 0 { openSockets += 1 }
    return descriptor
  }

  /// An address in numbers, for people and comparisons; empty for a kind that has none.
  private static func text(of address: UnsafeMutablePointer<curl_sockaddr>) -> String {
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard let place = address.pointer(to: \.addr) else { return "" }
    // CURLOPT_OPENSOCKETFUNCTION: `addr` stands for `addrlen` bytes, which may be more than a sockaddr.
    guard getnameinfo(place, address.pointee.addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
      return ""
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  fileprivate func hear(_ text: UnsafeRawBufferPointer) {
    guard let goAway = CurlGoAway(verbose: String(decoding: text, as: UTF8.self)) else { return }
    if goAway.lastStream == 0, goAway.error == 0 { wasTurnedAway = true }
  }

  fileprivate func close(_ descriptor: Int32) {
    openSockets -= 1
    _ = Glibc.close(descriptor)
  }
}

/// CURLMOPT_SOCKETFUNCTION; `data` is the connection, which outlives its multi handle.
private func socketChanged(
  _: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t, _ interest: Int32, _ data: UnsafeMutableRawPointer?,
  _: UnsafeMutableRawPointer?
) -> Int32 {
  if let data { Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.watch(descriptor, interest) } }
  return 0
}

/// CURLMOPT_TIMERFUNCTION; must not call libcurl, so it only takes note.
private func timerChanged(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ data: UnsafeMutableRawPointer?) -> Int32 {
  if let data {
    Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.setTimer(milliseconds: milliseconds) }
  }
  return 0
}

/// CURLOPT_OPENSOCKETFUNCTION: CURL_SOCKET_BAD makes the transfer fail with CURLE_COULDNT_CONNECT before anything is sent.
private func openSocket(
  _ data: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let data, let address else { return CURL_SOCKET_BAD }
  return Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.open(address) }
}

/// CURLOPT_DEBUGFUNCTION: libcurl's remarks on what it does, and more that nobody asked for.
private func noteVerbose(
  _: UnsafeMutableRawPointer?, _ kind: curl_infotype, _ text: UnsafeMutablePointer<CChar>?, _ count: Int,
  _ data: UnsafeMutableRawPointer?
) -> Int32 {
  guard kind == CURLINFO_TEXT, let data else { return 0 }
  Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef {
    $0.hear(UnsafeRawBufferPointer(start: text, count: count))
  }
  return 0
}

/// CURLOPT_CLOSESOCKETFUNCTION; also called by curl_multi_cleanup, when easy handles are long gone.
private func closeSocket(_ data: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
  if let data { Unmanaged<CurlConnection>.fromOpaque(data)._withUnsafeGuaranteedRef { $0.close(descriptor) } }
  return 0
}
