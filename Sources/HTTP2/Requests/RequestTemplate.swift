/// The header block of many requests: constant fields, and up to two values that differ in each request (the end of
/// `:path`, and an identifier). One template serves any number of requests, one after the other, on any number of
/// connections of the same queue.
public final class RequestTemplate {
  /// Memory for the path. ``pathCount`` is its used part. If the path is constant, do not change it.
  public let path: UnsafeMutableRawBufferPointer
  /// Number of used bytes of ``path``.
  public var pathCount: Int {
    didSet { precondition(pathCount <= path.count) }
  }
  /// Memory for the identifier, of exactly its size; empty without an identifier.
  public let identifier: UnsafeMutableRawBufferPointer

  let authority: HeaderTable.Field
  /// The path of all requests; `nil` if paths differ.
  let constantPath: HeaderTable.Field?
  /// The other constant fields, in order.
  let fields: [HeaderTable.Field]
  let identifierName: [UInt8]?

  /// - Parameters:
  ///   - authority: The host, and the port unless it is 443.
  ///   - path: The common beginning of every path.
  ///   - pathCapacity: Maximum length of a path in bytes; `nil` if every path equals `path`. HPACK indexes a constant
  ///     path.
  ///   - fields: The constant fields, with names in lower case. HPACK indexes them.
  ///   - identifier: The name of the field that differs in each request; `nil` for none.
  ///   - identifierCount: Length of the identifier's value in bytes.
  public init(
    authority: String, path: String, pathCapacity: Int?, fields: [(name: String, value: String)], identifier: String?,
    identifierCount: Int
  ) {
    self.path = .allocate(byteCount: max(pathCapacity ?? 0, path.utf8.count), alignment: 1)
    self.path.copyBytes(from: path.utf8)
    pathCount = path.utf8.count
    self.identifier = .allocate(byteCount: identifier == nil ? 0 : identifierCount, alignment: 1)
    self.authority = HeaderTable.Field(":authority", authority)
    constantPath = pathCapacity == nil ? HeaderTable.Field(":path", path) : nil
    self.fields = fields.map { HeaderTable.Field($0.name, $0.value) }
    identifierName = identifier.map { Array($0.utf8) }
  }

  deinit {
    path.deallocate()
    identifier.deallocate()
  }
}
