import CMicrohttpd
import Glibc

/// The head of a request. It must be read within the first call of libmicrohttpd's access handler, because
/// libmicrohttpd's memory of the head is valid only then.
struct RequestHead {
  private let method: [UInt8]
  private let target: [UInt8]
  private let version: String
  private let fields: [RequestFraming.Field]
  /// Whether libmicrohttpd has reported every byte of the head (see ``RequestLayout``).
  private let isExact: Bool
  /// Length of the body in bytes, as the header `Content-Length` announces it.
  let length: Int
  let isChunked: Bool

  /// A header, as two texts in libmicrohttpd's memory of the head.
  private struct Entry {
    var name: UnsafeRawBufferPointer
    var value: UnsafeRawBufferPointer
  }

  init(
    _ connection: OpaquePointer, method: UnsafePointer<CChar>, _ target: ServerExchange.Target,
    version: UnsafePointer<CChar>
  ) {
    let entries = Self.entries(connection)
    self.method = Array(UnsafeRawBufferPointer(start: method, count: strlen(method)))
    self.target = target.text
    self.version = String(cString: version)
    let fields = entries.map { (name: Array($0.name), value: Array($0.value)) }
    self.fields = fields
    func values(_ name: String) -> [[UInt8]] {
      fields.filter { String(decoding: $0.name, as: UTF8.self).lowercased() == name }.map(\.value)
    }
    length = values("content-length").first.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    isChunked = !values("transfer-encoding").isEmpty
    guard cmicrohttpd_is_strict() == 0 else {
      isExact = true
      return
    }
    // The head begins with the method, and the whole head is in the connection's memory.
    // MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE is the distance in that memory from the method to the first byte after
    // the empty line. This code compares addresses and reads only the head.
    let (start, words) = (UInt(bitPattern: method), (method: self.method.count, version: strlen(version)))
    func piece(_ address: UInt, _ count: Int) -> RequestLayout.Piece {
      .init(start: Int(bitPattern: address &- start), count: count)
    }
    func piece(_ text: UnsafeRawBufferPointer) -> RequestLayout.Piece {
      piece(UInt(bitPattern: text.baseAddress), text.count)
    }
    isExact = RequestLayout.isExact(
      UnsafeRawBufferPointer(start: method, count: cmicrohttpd_head_size(connection)),
      method: piece(start, words.method), target: piece(target.address, target.text.count),
      version: piece(UInt(bitPattern: version), words.version),
      fields: entries.map { (piece($0.name), piece($0.value)) })
  }

  /// Returns the request without its body.
  func request() throws(RequestFault) -> HTTPRequest {
    guard isExact else {
      throw RequestFault("the head of the request has a NUL, a bare LF, a folded line or an extra blank")
    }
    try RequestFraming.check(method: method, version: version, fields)
    let target = try RequestTarget(target)
    return HTTPRequest(
      method: String(decoding: method, as: UTF8.self), path: target.path, query: target.query,
      headers: fields.map { name, value in
        (String(decoding: name, as: UTF8.self), String(decoding: RequestFraming.trimmed(value), as: UTF8.self))
      })
  }

  /// Returns the headers in the order of their arrival. MHD_get_connection_values_n runs its callback before it
  /// returns, so a pointer to a local variable is valid.
  private static func entries(_ connection: OpaquePointer) -> [Entry] {
    var entries: [Entry] = []
    withUnsafeMutablePointer(to: &entries) { entries in
      _ = MHD_get_connection_values_n(
        connection, cmicrohttpd_headers,
        { context, _, name, nameSize, value, valueSize in
          context?.assumingMemoryBound(to: [Entry].self).pointee.append(
            Entry(name: .init(start: name, count: nameSize), value: .init(start: value, count: valueSize)))
          return cmicrohttpd_yes
        }, entries)
    }
    return entries
  }
}
