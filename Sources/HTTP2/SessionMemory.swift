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

  private let lists: Lists

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

  /// What nghttp2 is given; valid as long as this object. It is handed the lists, not the object, whose references would
  /// be counted with each call.
  func functions() -> nghttp2_mem {
    nghttp2_mem(
      mem_user_data: UnsafeMutableRawPointer(lists),
      malloc: { size, lists in SessionMemory.take(size, SessionMemory.lists(lists)) },
      free: { block, lists in SessionMemory.giveBack(block, SessionMemory.lists(lists)) },
      calloc: { count, size, lists in
        // Both are sizes of nghttp2's own structures, so their product is one as well.
        let block = SessionMemory.take(count * size, SessionMemory.lists(lists))
        block.initializeMemory(as: UInt8.self, repeating: 0, count: count * size)
        return block
      },
      realloc: { block, size, lists in SessionMemory.resize(block, to: size, SessionMemory.lists(lists)) })
  }

  private typealias Lists = UnsafeMutablePointer<UnsafeMutableRawPointer?>

  private static func lists(_ pointer: UnsafeMutableRawPointer?) -> Lists {
    // nghttp2 hands back what it was given.
    pointer.unsafelyUnwrapped.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
  }

  private static func take(_ size: Int, _ lists: Lists) -> UnsafeMutableRawPointer {
    let list = (size + step - 1) / step
    if list < listCount, let block = lists[list] {
      lists[list] = block.load(as: UnsafeMutableRawPointer?.self)
      return block
    }
    let room = list < listCount ? max(1, list) * step : size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: room + header, alignment: header)
    memory.storeBytes(of: list < listCount ? list : listCount, as: Int.self)
    memory.storeBytes(of: room, toByteOffset: 8, as: Int.self)
    return memory + header
  }

  private static func giveBack(_ block: UnsafeMutableRawPointer?, _ lists: Lists) {
    guard let block else { return }
    let list = (block - header).load(as: Int.self)
    guard list < listCount else { return (block - header).deallocate() }
    block.storeBytes(of: lists[list], as: UnsafeMutableRawPointer?.self)
    lists[list] = block
  }

  private static func resize(_ block: UnsafeMutableRawPointer?, to size: Int, _ lists: Lists)
    -> UnsafeMutableRawPointer?
  {
    guard let block else { return take(size, lists) }
    let room = (block - header).load(fromByteOffset: 8, as: Int.self)
    guard size > room else { return block }
    let larger = take(size, lists)
    larger.copyMemory(from: block, byteCount: room)
    giveBack(block, lists)
    return larger
  }
}
