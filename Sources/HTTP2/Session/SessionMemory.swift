internal import CNghttp2

/// The memory of one nghttp2 session (nghttp2_mem, nghttp2_session_client_new3(3)).
///
/// A request takes about six small blocks and returns them with its answer. This type keeps returned blocks in lists by
/// size for the next request. In steady state, a request therefore needs no call of the C library's allocator. That
/// allocator spends time on locks and caches for memory that moves between threads. Confined to the session's queue;
/// must outlive the session. The type keeps as much memory as was in use at the busiest moment.
final class SessionMemory {
  /// Number of bytes in front of each block. They contain the number of the list to which the block returns, and keep
  /// blocks aligned as malloc(3) does.
  private static let header = 16
  private static let step = 32
  /// Number of lists. Larger blocks than those of the last list are rare and come directly from the C library.
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

  /// Returns the functions for nghttp2, which are valid as long as this object. nghttp2 gets a pointer to the lists.
  /// With a pointer to the object, each call would retain and release the object, which takes time.
  func functions() -> nghttp2_mem {
    nghttp2_mem(
      mem_user_data: UnsafeMutableRawPointer(lists),
      malloc: { size, lists in SessionMemory.take(size, SessionMemory.lists(lists)) },
      free: { block, lists in SessionMemory.giveBack(block, SessionMemory.lists(lists)) },
      calloc: { count, size, lists in
        // nghttp2 passes the number and the size of its own structures, so the product can't overflow.
        let block = SessionMemory.take(count * size, SessionMemory.lists(lists))
        block.initializeMemory(as: UInt8.self, repeating: 0, count: count * size)
        return block
      },
      realloc: { block, size, lists in SessionMemory.resize(block, to: size, SessionMemory.lists(lists)) })
  }

  private typealias Lists = UnsafeMutablePointer<UnsafeMutableRawPointer?>

  private static func lists(_ pointer: UnsafeMutableRawPointer?) -> Lists {
    // nghttp2 returns the pointer that it got.
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
