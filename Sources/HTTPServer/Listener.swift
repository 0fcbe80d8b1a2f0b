import Glibc

/// A listening socket.
struct Listener {
  let descriptor: Int32
  /// The requested port, or the port that the system chose.
  let port: Int

  /// Number of connections that the kernel queues until the server accepts them. This is enough when many clients
  /// reconnect at the same moment.
  private static let backlog: Int32 = 512

  /// Opens a socket that listens at an address.
  ///
  /// - Parameters:
  ///   - host: A numeric address.
  ///   - port: 0 lets the system choose.
  static func open(host: String, port: Int) throws(HTTPServerError) -> Listener {
    let place = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    guard code == 0, let address = list?.pointee else {
      throw HTTPServerError(description: "can't listen on \(place): \(String(cString: gai_strerror(code)))")
    }
    // getaddrinfo(3): freeaddrinfo frees its result.
    defer { freeaddrinfo(list) }
    let descriptor = socket(
      address.ai_family, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw failure(place) }
    // socket(7): after a restart, connections of the former process must not block the port.
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    // ipv6(7): `::` includes IPv4.
    if address.ai_family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    guard bind(descriptor, address.ai_addr, address.ai_addrlen) == 0, listen(descriptor, backlog) == 0
    else {
      let failure = failure(place)
      close(descriptor)
      throw failure
    }
    return Listener(descriptor: descriptor, port: boundPort(descriptor) ?? port)
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func boundPort(_ descriptor: Int32) -> Int? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes -> Int? in
      guard let base = bytes.baseAddress,
        getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
      else { return nil }
      // sockaddr_in and sockaddr_in6 both have the port after the family, in network byte order.
      return Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }

  private static func failure(_ place: String) -> HTTPServerError {
    HTTPServerError(description: "can't listen on \(place): \(String(cString: strerror(errno)))")
  }
}
