internal import CCurl
internal import EventLoop
internal import Glibc

/// Sockets of a multi handle: the sockets to the service, and a watcher for each descriptor on which libcurl waits.
final class CurlSockets {
  /// Sockets to the service that libcurl has open. There is more than one only while libcurl tries several addresses.
  private var open: Set<Int32> = []
  private var watchers: [Int32: SocketWatcher] = [:]
  private var isClosed = false
  private let loop: EventLoop
  private let onEvent: @Sendable (CurlConnection.Event) -> Void

  init(_ context: ConnectionContext<CurlConnection.Event>) {
    loop = context.loop
    onEvent = context.onEvent
  }

  /// Whether no socket to the service is open.
  var isEmpty: Bool { open.isEmpty }

  /// Starts, changes or ends the watch of a socket, as libcurl requests (CURLMOPT_SOCKETFUNCTION).
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
    // Watches a duplicate, because libcurl closes its sockets and the pipes of its resolver without notice. If no
    // duplicate can be made (no descriptors left), the transfers on the socket time out.
    guard let socket = try? Socket.duplicate(of: descriptor) else { return nil }
    let onEvent = onEvent
    let watcher = SocketWatcher(
      socket, on: loop,
      onReadable: { onEvent(.ready(descriptor: descriptor, events: CURL_CSELECT_IN)) },
      onWritable: { onEvent(.ready(descriptor: descriptor, events: CURL_CSELECT_OUT)) })
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

  /// Shuts down the sockets to the service, so that libcurl reads no more from them.
  func shutDown() {
    for descriptor in open { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  /// Ends all watches, and starts none later.
  func stop() {
    isClosed = true
    for watcher in watchers.values { watcher.close() }
    watchers = [:]
  }

  /// Returns an address in numeric form, for people and comparisons; empty for an unsupported kind.
  static func text(of address: UnsafeMutablePointer<curl_sockaddr>) -> String {
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard let place = address.pointer(to: \.addr) else { return "" }
    // CURLOPT_OPENSOCKETFUNCTION: `addr` has `addrlen` bytes, which may be more than a sockaddr.
    guard getnameinfo(place, address.pointee.addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
      return ""
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
