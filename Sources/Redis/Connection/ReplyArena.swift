/// Storage of the answers to one call: one buffer for the bytes of all answers, and an array of *nodes* for their
/// structure.
///
/// The children of an array are adjacent nodes, so the n-th child is found by its index.
final class ReplyArena: Sendable {
  struct Node: Sendable {
    /// The integer; for a text the offset of its first byte; for an array the index of its first child.
    var value = 0
    /// Number of bytes of a text, or of children of an array.
    var count: UInt32 = 0
    var kind = RedisReply.Kind.null
  }

  let bytes: [UInt8]
  let nodes: [Node]

  init(bytes: [UInt8], nodes: [Node]) {
    self.bytes = bytes
    self.nodes = nodes
  }
}

/// Collects answers in the order in which they are parsed, and makes the ``ReplyArena``.
struct ReplyBuilder {
  private var bytes: [UInt8] = []
  private var nodes: [ReplyArena.Node] = []

  /// Maximum number of children of one array. No command of Carillon requests more than some hundred elements. A larger
  /// number therefore means a corrupt stream, for which the builder must not reserve gigabytes.
  static let maximumElements = 1 << 20

  var isEmpty: Bool { nodes.isEmpty }

  mutating func reserve(bytes count: Int) { bytes.reserveCapacity(count) }

  /// Adds a text: a bulk string, a status or an error.
  ///
  /// - Returns: the index of the node.
  mutating func addText(
    _ text: UnsafeRawBufferPointer, kind: RedisReply.Kind, parent: Int?, position: Int
  ) -> Int {
    let node = ReplyArena.Node(value: bytes.count, count: UInt32(truncatingIfNeeded: text.count), kind: kind)
    bytes.append(contentsOf: text)
    return place(node, parent, position)
  }

  mutating func addInteger(_ value: Int64, parent: Int?, position: Int) -> Int {
    place(ReplyArena.Node(value: Int(value), kind: .integer), parent, position)
  }

  mutating func addNull(parent: Int?, position: Int) -> Int {
    place(ReplyArena.Node(), parent, position)
  }

  /// Adds an array, whose children are added later.
  ///
  /// - Returns: the index of the node; `nil` if the array is larger than ``maximumElements``.
  mutating func addArray(count: Int, parent: Int?, position: Int) -> Int? {
    guard count <= Self.maximumElements else { return nil }
    let index = place(ReplyArena.Node(count: UInt32(count), kind: .array), parent, position)
    nodes[index].value = nodes.count
    nodes.append(contentsOf: repeatElement(ReplyArena.Node(), count: count))
    return index
  }

  /// Returns whether a node is an array of a given length, and its first element is the given text.
  func isArray(_ index: Int, of count: Int, beginningWith text: StaticString) -> Bool {
    guard nodes[index].kind == .array, nodes[index].count == count else { return false }
    let first = nodes[nodes[index].value]
    guard first.kind.isText, first.count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { bytes[first.value..<(first.value + $0.count)].elementsEqual($0) }
  }

  /// Returns the collected answers and begins a new storage.
  mutating func take() -> ReplyArena {
    let arena = ReplyArena(bytes: bytes, nodes: nodes)
    bytes = []
    nodes = []
    return arena
  }

  private mutating func place(_ node: ReplyArena.Node, _ parent: Int?, _ position: Int) -> Int {
    guard let parent else {
      nodes.append(node)
      return nodes.count - 1
    }
    let index = nodes[parent].value + position
    nodes[index] = node
    return index
  }
}
