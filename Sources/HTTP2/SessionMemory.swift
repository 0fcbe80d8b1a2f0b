internal import CNghttp2

/// The memory of one nghttp2 session (nghttp2_mem, nghttp2_session_client_new3(3)).
///
/// A request takes half a dozen small blocks and gives them back with its answer; here they wait for the next request in
/// lists by size, so that in steady state the C library's allocator, whose locks and caches are for memory that goes from
/// thread to thread, is not asked. Confined to the session's queue; outlives the session. What it keeps is what was in
/// use at the busiest moment.
final class SessionMemory {
  /// Before each block, 16 bytes, which keeps blocks aligned as malloc(3) does: the list it belongs to.
  private static let header = 16
  private static let step = 32
  /// Larger blocks are few, and go straight to the C library.
  private static let listCount = 32

  private let lists: UnsafeMutablePointer<UnsafeMutableRawPointer?>

  init() {
    lists = .allocate(capacity: Self.listCount)
    lists.initialize(repeating: nil, count: Self.listCount)
  }

  deinit {
    for index in 0..<Self.listCount {
      while let block = lists[index] {
        lists[index] = block.load(as: UnsafeMutableRawPointer?.self)
        (block - Self.header).deallocate()
      }
    }
    lists.deallocate()
  }

  /// What nghttp2 is given; valid as long as this object.
  func functions() -> nghttp2_mem {
    nghttp2_mem(
      mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
      malloc: { size, owner in SessionMemory.of(owner)?.take(size) },
      free: { block, owner in SessionMemory.of(owner)?.giveBack(block) },
      calloc: { count, size, owner in
        // Both are sizes of nghttp2's own structures, so their product is one as well.
        guard let block = SessionMemory.of(owner)?.take(count * size) else { return nil }
        block.initializeMemory(as: UInt8.self, repeating: 0, count: count * size)
        return block
      },
      realloc: { block, size, owner in SessionMemory.of(owner)?.resize(block, to: size) })
  }

  private static func of(_ owner: UnsafeMutableRawPointer?) -> SessionMemory? {
    owner.map { Unmanaged<SessionMemory>.fromOpaque($0)._withUnsafeGuaranteedRef { $0 } }
  }

  private func take(_ size: Int) -> UnsafeMutableRawPointer {
    let list = (size + Self.step - 1) / Self.step
    if list < Self.listCount, let block = lists[list] {
      lists[list] = block.load(as: UnsafeMutableRawPointer?.self)
      return block
    }
    let room = list < Self.listCount ? max(1, list) * Self.step : size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: room + Self.header, alignment: Self.header)
    memory.storeBytes(of: list < Self.listCount ? list : Self.listCount, as: Int.self)
    memory.storeBytes(of: room, toByteOffset: 8, as: Int.self)
    return memory + Self.header
  }

  private func giveBack(_ block: UnsafeMutableRawPointer?) {
    guard let block else { return }
    let list = (block - Self.header).load(as: Int.self)
    guard list < Self.listCount else { return (block - Self.header).deallocate() }
    block.storeBytes(of: lists[list], as: UnsafeMutableRawPointer?.self)
    lists[list] = block
  }

  private func resize(_ block: UnsafeMutableRawPointer?, to size: Int) -> UnsafeMutableRawPointer? {
    guard let block else { return take(size) }
    let room = (block - Self.header).load(fromByteOffset: 8, as: Int.self)
    guard size > room else { return block }
    let larger = take(size)
    larger.copyMemory(from: block, byteCount: room)
    giveBack(block)
    return larger
  }
}
