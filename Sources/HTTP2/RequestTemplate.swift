/// The header block of many requests: fields that stay the same, and up to two that are written anew for each, `:path` and
/// an identifier. One template serves any number of requests, one after the other, on any number of connections of a queue.
public final class RequestTemplate {
  /// Where the path is to be written; ``pathCount`` says how much of it counts.
  public let path: UnsafeMutableRawBufferPointer
  /// How many bytes of ``path`` are in use.
  public var pathCount: Int {
    didSet { precondition(pathCount <= path.count) }
  }
  /// Where the identifier is to be written, all of it; empty where there is none.
  public let identifier: UnsafeMutableRawBufferPointer

  /// What stays, in order.
  let fields: [HeaderTable.Field]
  let identifierName: [UInt8]?

  /// - Parameters:
  ///   - authority: host, and port unless it is 443.
  ///   - path: what every path begins with.
  ///   - pathCapacity: bytes of the longest path.
  ///   - fields: what stays, names in lower case; HPACK indexes them.
  ///   - identifier: the name of the field that is another in each request; `nil` for none.
  ///   - identifierCount: bytes of its value.
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
