/// The address of a server: a numeric IP address and a port.
package struct ListenAddress: Equatable {
  package var host: String
  package var port: Int

  /// - Parameter text: `127.0.0.1:8080` or `[::1]:8080`. Host names are not allowed, because a name may have several
  ///   addresses.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65535).contains(port)
    else { return nil }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      self.host = String(host.dropFirst().dropLast())
      guard self.host.contains(":"), self.host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
        return nil
      }
    } else {
      let bytes = host.split(separator: ".", omittingEmptySubsequences: false)
      guard bytes.count == 4, bytes.allSatisfy({ UInt8($0) != nil }) else { return nil }
      self.host = String(host)
    }
    self.port = port
  }

  /// Whether only this machine can reach the address.
  package var isLoopback: Bool { host.hasPrefix("127.") || host == "::1" }

  /// The host in the syntax of a URL.
  package var urlHost: String { host.contains(":") ? "[\(host)]" : host }
}
