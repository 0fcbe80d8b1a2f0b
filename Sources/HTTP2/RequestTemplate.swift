internal import CNghttp2

/// The header block of many requests: fields that stay the same, and up to two that are written anew for each, `:path` and
/// an identifier.
///
/// nghttp2 is lent all names and values, copying nothing (NGHTTP2_NV_FLAG_NO_COPY_NAME and …_VALUE): it reads them until
/// the HEADERS frame is made, which ``RequestSession/open(_:body:tag:mark:now:)`` sees to before it returns. So one
/// template serves any number of requests, one after the other.
public final class RequestTemplate {
  /// Where the path is to be written; ``pathCount`` says how much of it counts.
  public let path: UnsafeMutableRawBufferPointer
  /// Where the identifier is to be written, all of it; empty where there is none.
  public let identifier: UnsafeMutableRawBufferPointer

  let fields: UnsafeMutableBufferPointer<nghttp2_nv>
  /// The size of the smallest frame that ``IndexedAuthorization`` may have to look through.
  let smallestWithAlias: Int
  private let bytes: UnsafeMutableRawBufferPointer
  private static let pathIndex = 3

  /// How many bytes of ``path`` are in use.
  public var pathCount: Int {
    get { fields[Self.pathIndex].valuelen }
    set {
      precondition(newValue <= path.count)
      fields[Self.pathIndex].valuelen = newValue
    }
  }

  /// - Parameters:
  ///   - authority: host, and port unless it is 443.
  ///   - path: what every path begins with.
  ///   - pathCapacity: bytes of the longest path.
  ///   - fields: what stays, names in lower case; HPACK indexes them.
  ///   - identifier: the name of the field that is another in each request; `nil` for none.
  ///   - identifierCount: bytes of its value.
  public convenience init(
    authority: String, path: String, pathCapacity: Int, fields: [(name: String, value: String)], identifier: String?,
    identifierCount: Int
  ) {
    self.init(
      authority: authority, path: path, pathCapacity: pathCapacity, fields: fields, identifier: identifier,
      identifierCount: identifierCount, alias: IndexedAuthorization.alias)
  }

  /// - Parameter alias: what nghttp2 is given for `authorization`.
  init(
    authority: String, path: String, pathCapacity: Int, fields: [(name: String, value: String)], identifier: String?,
    identifierCount: Int, alias: String
  ) {
    let all =
      [(":method", "POST"), (":scheme", "https"), (":authority", authority), (":path", path)]
      + fields.map { ($0.name == IndexedAuthorization.name ? alias : $0.name, $0.value) }
      + (identifier.map { [($0, "")] } ?? [])
    let capacity = max(pathCapacity, path.utf8.count)
    let size = all.reduce(capacity + identifierCount) { $0 + $1.0.utf8.count + $1.1.utf8.count }
    bytes = .allocate(byteCount: size, alignment: 1)
    self.fields = .allocate(capacity: all.count)
    let authorization = fields.first { $0.name == IndexedAuthorization.name }
    smallestWithAlias = authorization.map { IndexedAuthorization.smallestFrame(value: $0.value) } ?? .max
    var used = 0
    let memory = bytes
    func place(_ text: String, reserving room: Int? = nil) -> UnsafeMutableRawBufferPointer {
      let start = used
      var text = text
      text.withUTF8 { UnsafeMutableRawBufferPointer(rebasing: memory[start...]).copyMemory(from: .init($0)) }
      used += room ?? text.utf8.count
      return UnsafeMutableRawBufferPointer(rebasing: memory[start..<used])
    }
    var variable: [UnsafeMutableRawBufferPointer] = []
    for (index, field) in all.enumerated() {
      let isPath = index == Self.pathIndex
      let isIdentifier = identifier != nil && index == all.count - 1
      let name = place(field.0)
      let value = place(field.1, reserving: isPath ? capacity : isIdentifier ? identifierCount : nil)
      if isPath || isIdentifier { variable.append(value) }
      self.fields.initializeElement(
        at: index,
        to: nghttp2_nv(
          name: name.baseAddress?.assumingMemoryBound(to: UInt8.self),
          value: value.baseAddress?.assumingMemoryBound(to: UInt8.self), namelen: name.count,
          valuelen: isPath ? field.1.utf8.count : value.count, flags: Self.lent | (isPath ? Self.unindexed : 0)))
    }
    self.path = variable[0]
    self.identifier = variable.count > 1 ? variable[1] : UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  deinit {
    fields.deallocate()
    bytes.deallocate()
  }

  /// Whether HPACK may put the identifier into its table: once on a connection, so that later ones can refer to its name
  /// (as Apple, "Sending notification requests to APNs", has it).
  func setIndexing(ofIdentifier isIndexed: Bool) {
    guard !identifier.isEmpty else { return }
    fields[fields.count - 1].flags = Self.lent | (isIndexed ? 0 : Self.unindexed)
  }

  private static let lent = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
  private static let unindexed = UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
}
