internal import Glibc

/// The address of a socket's peer.
enum PeerAddress {
  /// Returns the literal address without port, such as `127.0.0.1`; an empty text if the peer has disconnected.
  static func text(of descriptor: Int32) -> String {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let status = withUnsafeMutablePointer(to: &storage) { pointer in
      // getpeername(2) and getnameinfo(3) read only as many bytes as the family has, and at most the given length.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        guard getpeername(descriptor, address, &length) == 0 else { return Int32(-1) }
        return getnameinfo(address, length, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
      }
    }
    return status == 0 ? String(decoding: host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
  }
}
