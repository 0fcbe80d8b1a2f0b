import Glibc

/// The socket address of a numeric host, such as `127.0.0.1` or `::1`.
final class NumericAddress {
  private let list: UnsafeMutablePointer<addrinfo>

  var family: Int32 { list.pointee.ai_family }

  init(_ host: String, port: Int) throws {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, String(port), &hints, &list) == 0, let list else {
      throw TestSupportError("\(host) is not a numeric address")
    }
    self.list = list
  }

  /// Calls `connect(2)`.
  func connect(_ descriptor: Int32) -> Int32 {
    Glibc.connect(descriptor, list.pointee.ai_addr, list.pointee.ai_addrlen)
  }

  /// Calls `bind(2)`.
  func bind(_ descriptor: Int32) -> Int32 { Glibc.bind(descriptor, list.pointee.ai_addr, list.pointee.ai_addrlen) }

  deinit { freeaddrinfo(list) }
}
