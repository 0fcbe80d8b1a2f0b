internal import CNghttp2

/// A list of header fields in one block of memory, which can be filled, read and emptied many times.
///
/// When the list has grown to the usual size of a header block, filling it again allocates nothing.
public struct HeaderFields: ~Copyable {
  /// Whether HPACK may put a field into its dynamic table.
  public enum Indexing: Sendable {
    /// For values that are repeated.
    case allowed
    /// For values that differ each time (RFC 7541 section 6.2.3). In the table, they would only evict useful entries.
    case never
  }

  private struct Entry {
    var nameStart: Int32
    var nameCount: Int32
    var valueStart: Int32
    var valueCount: Int32
    var indexing: Indexing
  }

  // RFC 9113 section 6.5.2: a field counts its octets plus 32.
  private static let overheadPerField = 32

  private var bytes: UnsafeMutableRawBufferPointer
  private var byteCount = 0
  private var entries: UnsafeMutableBufferPointer<Entry>
  /// Number of fields.
  public private(set) var count = 0

  /// Creates an empty list.
  public init() {
    bytes = .allocate(byteCount: 1024, alignment: 1)
    entries = .allocate(capacity: 16)
  }

  deinit {
    bytes.deallocate()
    entries.deallocate()
  }

  /// The size of the list as SETTINGS_MAX_HEADER_LIST_SIZE counts it.
  public var listSize: Int { byteCount + count * Self.overheadPerField }

  /// Returns the name of field `index`. Valid until the list changes.
  public func name(_ index: Int) -> UnsafeRawBufferPointer {
    precondition(index < count)
    let entry = entries[index]
    return UnsafeRawBufferPointer(
      start: bytes.baseAddress.map { $0 + Int(entry.nameStart) }, count: Int(entry.nameCount))
  }

  /// Returns the value of field `index`. Valid until the list changes.
  public func value(_ index: Int) -> UnsafeRawBufferPointer {
    precondition(index < count)
    let entry = entries[index]
    return UnsafeRawBufferPointer(
      start: bytes.baseAddress.map { $0 + Int(entry.valueStart) }, count: Int(entry.valueCount))
  }

  /// The value of the first field with this name, as text. Not for hot paths.
  public subscript(_ name: String) -> String? {
    for index in 0..<count where self.name(index).elementsEqual(name.utf8) {
      return String(decoding: value(index), as: UTF8.self)
    }
    return nil
  }

  /// Adds a field. Copies the name and the value.
  public mutating func add(
    _ name: StaticString, _ value: UnsafeRawBufferPointer, indexing: Indexing = .allowed
  ) {
    add(
      UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value, indexing: indexing)
  }

  /// Adds a field. Copies the name and the value.
  public mutating func add(_ name: String, _ value: String, indexing: Indexing = .allowed) {
    var name = name
    var value = value
    name.withUTF8 { name in
      value.withUTF8 { value in
        add(UnsafeRawBufferPointer(name), UnsafeRawBufferPointer(value), indexing: indexing)
      }
    }
  }

  /// Adds a field. Copies the name and the value.
  public mutating func add(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, indexing: Indexing = .allowed
  ) {
    reserve(name.count + value.count)
    let entry = Entry(
      nameStart: Int32(byteCount), nameCount: Int32(name.count), valueStart: Int32(byteCount + name.count),
      valueCount: Int32(value.count), indexing: indexing)
    UnsafeMutableRawBufferPointer(rebasing: bytes[byteCount...]).copyMemory(from: name)
    byteCount += name.count
    UnsafeMutableRawBufferPointer(rebasing: bytes[byteCount...]).copyMemory(from: value)
    byteCount += value.count
    entries.initializeElement(at: count, to: entry)
    count += 1
  }

  /// Empties the list and keeps its memory.
  public mutating func removeAll() {
    byteCount = 0
    count = 0
  }

  /// Writes the fields into `vector` for one nghttp2 call, which copies them (nghttp2_submit_request(3) without the
  /// NO_COPY flags).
  func fill(_ vector: inout [nghttp2_nv]) {
    vector.removeAll(keepingCapacity: true)
    guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
    for index in 0..<count {
      let entry = entries[index]
      let flags = entry.indexing == .never ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
      vector.append(
        nghttp2_nv(
          name: base + Int(entry.nameStart), value: base + Int(entry.valueStart), namelen: Int(entry.nameCount),
          valuelen: Int(entry.valueCount), flags: UInt8(flags.rawValue)))
    }
  }

  private mutating func reserve(_ more: Int) {
    if byteCount + more > bytes.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(bytes.count * 2, byteCount + more), alignment: 1)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<byteCount]))
      bytes.deallocate()
      bytes = larger
    }
    if count == entries.count {
      let larger = UnsafeMutableBufferPointer<Entry>.allocate(capacity: entries.count * 2)
      _ = larger.moveInitialize(fromContentsOf: entries[..<count])
      entries.deallocate()
      entries = larger
    }
  }
}
