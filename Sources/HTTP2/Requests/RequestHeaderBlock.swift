/// Encoder of the header blocks of one connection. It encodes the fields of a template once, and the path and the
/// identifier for each request.
///
/// As Apple recommends ("Sending notification requests to APNs"), HPACK indexes all fields except a path that differs
/// between requests. Only the first identifier of a connection is indexed, so that later identifiers can refer to its
/// name.
///
/// This is a class with unmanaged memory for the encoded bytes, because changes of such memory need no checks of
/// exclusive access (see ``RequestTable``).
final class RequestHeaderBlock {
  private var table = HeaderTable()
  /// The template whose encoding is in the memory.
  private var template: RequestTemplate?
  /// Whether the encoding in the memory is valid for the next request: the dynamic table has not changed since, and
  /// contains the fields of the block.
  private var isGood = false
  /// The encoded bytes before the length of the path, followed by the bytes between the path and the length of the
  /// identifier. A constant path is in the first part.
  private let memory: UnsafeMutableRawBufferPointer
  private var startCount = 0
  private var middleCount = 0
  /// Whether the identifier of the next request goes into the table.
  private var indexesIdentifier = false

  // Indexes of ":method: POST" and ":scheme: https" (RFC 7541 appendix A). The name ":path" of a literal that is not
  // indexed follows.
  private static let opening: [UInt8] = [0x83, 0x87]
  private static let pathName: UInt8 = 0x04

  init() {
    memory = .allocate(byteCount: FrameHeader.largestPayload, alignment: 1)
  }

  deinit { memory.deallocate() }

  /// Sets the size of the peer's table.
  func setTableSize(_ size: Int) {
    table.setLimit(size)
    isGood = false
  }

  /// Prepares the header block for the next request of a template, and adds the block's new fields to the table.
  ///
  /// - Returns: `false` if the block is too long for a frame. In this case the connection can't continue.
  func spell(_ template: RequestTemplate) -> Bool {
    if isGood, self.template === template { return true }
    self.template = template
    let before = table.changes
    var start: [UInt8] = []
    var middle: [UInt8] = []
    table.begin(&start)
    start += Self.opening
    table.append(template.authority, to: &start)
    if let path = template.constantPath { table.append(path, to: &start) } else { start.append(Self.pathName) }
    for field in template.fields { table.append(field, to: &middle) }
    indexesIdentifier = template.identifierName.map { table.appendName(ofLiteral: $0, to: &middle) } ?? false
    isGood = table.changes == before && !indexesIdentifier
    // Each of the two lengths needs at most three bytes.
    let rest = template.path.count + template.identifier.count + 6
    guard start.count + middle.count + rest <= memory.count else { return false }
    memory.copyBytes(from: start)
    UnsafeMutableRawBufferPointer(rebasing: memory[start.count...]).copyBytes(from: middle)
    (startCount, middleCount) = (start.count, middle.count)
    return true
  }

  /// Writes the prepared block, with the template's path and identifier.
  func write(_ template: RequestTemplate, to next: inout UnsafeMutableRawPointer) {
    Self.copy(UnsafeRawBufferPointer(start: memory.baseAddress, count: startCount), to: &next)
    if template.constantPath == nil {
      Self.spell(UnsafeRawBufferPointer(start: template.path.baseAddress, count: template.pathCount), to: &next)
    }
    Self.copy(UnsafeRawBufferPointer(start: memory.baseAddress.map { $0 + startCount }, count: middleCount), to: &next)
    if !template.identifier.isEmpty { Self.spell(UnsafeRawBufferPointer(template.identifier), to: &next) }
    guard indexesIdentifier, let name = template.identifierName else { return }
    table.insert(.init(name: name, value: Array(template.identifier)))
    indexesIdentifier = false
  }

  /// Writes a string without Huffman code (RFC 7541 section 5.2).
  private static func spell(_ bytes: UnsafeRawBufferPointer, to next: inout UnsafeMutableRawPointer) {
    if bytes.count < 127 {
      next.storeBytes(of: UInt8(bytes.count), as: UInt8.self)
      next += 1
    } else {
      var length: [UInt8] = []
      HeaderTable.append(bytes.count, prefix: 7, pattern: 0, to: &length)
      length.withUnsafeBytes { copy($0, to: &next) }
    }
    copy(bytes, to: &next)
  }

  static func copy(_ bytes: UnsafeRawBufferPointer, to next: inout UnsafeMutableRawPointer) {
    guard let source = bytes.baseAddress else { return }
    next.copyMemory(from: source, byteCount: bytes.count)
    next += bytes.count
  }
}
