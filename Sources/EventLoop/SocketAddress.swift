import Glibc

/// IPv4 or IPv6 address with a port.
public struct SocketAddress: Sendable, CustomStringConvertible {
  var storage: sockaddr_storage
  var length: socklen_t

  /// Looks up `host` without a cache. Blocks on the name service: do not call it on an event loop.
  ///
  /// - Parameters:
  ///   - host: a name or a literal address.
  ///   - port: 0 to 65535; 0 lets the system choose when listening.
  /// - Returns: all stream addresses in the resolver's order; at least one.
  public static func resolve(host: String, port: UInt16) throws -> [SocketAddress] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, String(port), &hints, &list)
    guard status == 0 else {
      throw SocketError(operation: "look up \(host)", reason: String(cString: gai_strerror(status)))
    }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var next = list
    while let entry = next?.pointee {
      var storage = sockaddr_storage()
      memcpy(&storage, entry.ai_addr, Int(entry.ai_addrlen))
      addresses.append(SocketAddress(storage: storage, length: entry.ai_addrlen))
      next = entry.ai_next
    }
    return addresses
  }

  var family: Int32 { Int32(storage.ss_family) }

  /// Whether this is an IPv6 address; otherwise it is an IPv4 address.
  public var isIPv6: Bool { family == AF_INET6 }

  /// Port in host byte order.
  public var port: UInt16 {
    var copy = storage
    return withUnsafeBytes(of: &copy) { raw in
      // `sin_port` and `sin6_port` have the same offset, after the family (RFC 3493 section 3.3).
      UInt16(bigEndian: raw.load(fromByteOffset: 2, as: UInt16.self))
    }
  }

  /// Address in numeric form without the port.
  public var host: String {
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    var copy = storage
    let status = withUnsafePointer(to: &copy) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getnameinfo($0, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
      }
    }
    return status == 0 ? String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "?"
  }

  public var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
