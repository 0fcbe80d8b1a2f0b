internal import CCurl
internal import EventLoop
internal import Glibc

/// The sockets of a multi handle: those to the service, and watchers of all that libcurl waits for.
final class CurlSockets {
  /// Sockets to the service that libcurl has open; more than one only while it tries several addresses.
  private var open: Set<Int32> = []
  private var watchers: [Int32: SocketWatcher] = [:]
  private var isClosed = false
  private let loop: EventLoop
  private let happened: @Sendable (CurlConnection.Event) -> Void

  init(_ surroundings: ConnectionSurroundings<CurlConnection.Event>) {
    loop = surroundings.loop
    happened = surroundings.happened
  }

  /// Whether no socket to the service is open.
  var isEmpty: Bool { open.isEmpty }

  /// Watches a socket as libcurl asks (CURLMOPT_SOCKETFUNCTION).
  func watch(_ descriptor: Int32, _ interest: Int32) {
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
    let happened = happened
    let watcher = SocketWatcher(
      socket, on: loop,
      onReadable: { happened(.ready(descriptor: descriptor, events: CURL_CSELECT_IN)) },
      onWritable: { happened(.ready(descriptor: descriptor, events: CURL_CSELECT_OUT)) })
    watchers[descriptor] = watcher
    return watcher
  }

  /// Opens a socket to the service (CURLOPT_OPENSOCKETFUNCTION).
  func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
    let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.pointee.family, type, address.pointee.protocol)
    if descriptor >= 0 { open.insert(descriptor) }
    return descriptor
  }

  /// Closes a socket (CURLOPT_CLOSESOCKETFUNCTION).
  func close(_ descriptor: Int32) {
    open.remove(descriptor)
    _ = Glibc.close(descriptor)
  }

  /// Shuts the sockets to the service down, so that libcurl reads no more from them.
  func shutDown() {
    for descriptor in open { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  /// Watches nothing from now on.
  func stop() {
    isClosed = true
    for watcher in watchers.values { watcher.close() }
    watchers = [:]
  }

  /// An address in numbers, for people and comparisons; empty for a kind that has none.
  static func text(of address: UnsafeMutablePointer<curl_sockaddr>) -> String {
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard let place = address.pointer(to: \.addr) else { return "" }
    // CURLOPT_OPENSOCKETFUNCTION: `addr` stands for `addrlen` bytes, which may be more than a sockaddr.
    guard getnameinfo(place, address.pointee.addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
      return ""
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
