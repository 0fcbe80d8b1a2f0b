/// The header block of many requests: constant fields, and up to two fields that are written for each request, `:path`
/// and an identifier. One template serves any number of requests, one after the other, on any number of connections of
/// the same queue.
public final class RequestTemplate {
  /// Memory for the path. ``pathCount`` is its used part.
  public let path: UnsafeMutableRawBufferPointer
  /// Number of used bytes of ``path``.
  public var pathCount: Int {
    didSet { precondition(pathCount <= path.count) }
  }
  /// Memory for the identifier, of exactly its size; empty without an identifier.
  public let identifier: UnsafeMutableRawBufferPointer

  /// The constant fields, in order.
  let fields: [HeaderTable.Field]
  let identifierName: [UInt8]?

  /// - Parameters:
  ///   - authority: The host, and the port unless it is 443.
  ///   - path: The common beginning of every path.
  ///   - pathCapacity: Maximum length of a path in bytes.
  ///   - fields: The constant fields, with names in lower case. HPACK indexes them.
  ///   - identifier: The name of the field that differs in each request; `nil` for none.
  ///   - identifierCount: Length of the identifier's value in bytes.
  public init(
    authority: String, path: String, pathCapacity: Int, fields: [(name: String, value: String)], identifier: String?,
    identifierCount: Int
  ) {
    self.path = .allocate(byteCount: max(pathCapacity, path.utf8.count), alignment: 1)
    self.path.copyBytes(from: path.utf8)
    pathCount = path.utf8.count
    self.identifier = .allocate(byteCount: identifier == nil ? 0 : identifierCount, alignment: 1)
    self.fields = ([(":authority", authority)] + fields).map {
      HeaderTable.Field(name: Array($0.0.utf8), value: Array($0.1.utf8))
    }
    identifierName = identifier.map { Array($0.utf8) }
  }

  deinit {
    path.deallocate()
    identifier.deallocate()
  }
}
