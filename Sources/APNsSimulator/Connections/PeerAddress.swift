internal import Glibc

/// Where the other end of a socket is.
enum PeerAddress {
  /// The literal address without port, such as `127.0.0.1`; empty when the peer is gone already.
  static func text(of descriptor: Int32) -> String {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let status = withUnsafeMutablePointer(to: &storage) { pointer in
      // getpeername(2) and getnameinfo(3) look at as many bytes as the family has, never more than they are told.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard getpeername(descriptor, address, &length) == 0 else { return Int32(-1) }
        return getnameinfo(address, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
      }
    }
    return status == 0 ? String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
  }
}
