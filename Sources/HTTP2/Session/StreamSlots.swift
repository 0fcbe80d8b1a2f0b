/// The state of each open stream, in a dense table. The table grows to the maximum number of streams that were open at
/// the same time.
struct StreamSlots {
  private struct Slot {
    var id: Int32
    var body: [UInt8]?
    var sent: Int
  }

  private var slots: [Slot] = []
  private var free: [Int] = []

  mutating func take(body: [UInt8]?) -> Int {
    let slot = Slot(id: 0, body: body, sent: 0)
    if let index = free.popLast() {
      slots[index] = slot
      return index
    }
    slots.append(slot)
    return slots.count - 1
  }

  mutating func setID(_ id: Int32, of index: Int) { slots[index].id = id }

  func id(of index: Int) -> Int32 { slots[index].id }

  mutating func setBody(_ body: [UInt8]?, of index: Int) {
    slots[index].body = body
    slots[index].sent = 0
  }

  mutating func free(_ index: Int) {
    slots[index].id = 0
    slots[index].body = nil
    free.append(index)
  }

  func contains(_ stream: HTTP2Stream) -> Bool { stream.slot < slots.count && slots[stream.slot].id == stream.id }

  func find(_ id: Int32) -> HTTP2Stream? {
    slots.firstIndex { $0.id == id }.map { HTTP2Stream(id: id, slot: $0) }
  }

  /// Copies the next piece of a body. Releases the body with its last piece.
  mutating func takeBody(_ index: Int, into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, isLast: Bool) {
    guard let body = slots[index].body else { return (0, true) }
    let start = slots[index].sent
    let count = min(buffer.count, body.count - start)
    body.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    slots[index].sent += count
    let isLast = start + count == body.count
    if isLast { slots[index].body = nil }
    return (count, isLast)
  }

  // nghttp2 stores a pointer as the user data of a stream, and null means none. The pointer therefore has the value of
  // the slot plus one.

  static func userData(_ slot: Int) -> UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: slot + 1) }

  static func slot(userData: UnsafeMutableRawPointer?) -> Int? { userData.map { Int(bitPattern: $0) - 1 } }
}
