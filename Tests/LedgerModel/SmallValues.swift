/// A set of up to eight small numbers: targets of a slice, slices, names.
public struct SmallSet: Equatable, Sendable, Sequence, IteratorProtocol {
  var bits: UInt8 = 0

  init() {}

  init(bits: UInt8) { self.bits = bits }

  /// Whether the set is empty.
  public var isEmpty: Bool { bits == 0 }
  /// Number of elements.
  public var count: Int { bits.nonzeroBitCount }
  /// Returns whether a number is in the set.
  public func contains(_ number: Int) -> Bool { bits >> UInt8(number) & 1 == 1 }
  mutating func insert(_ number: Int) { bits |= 1 << UInt8(number) }
  mutating func remove(_ number: Int) { bits &= ~(1 << UInt8(number)) }
  func union(_ other: SmallSet) -> SmallSet { SmallSet(bits: bits | other.bits) }
  func intersection(_ other: SmallSet) -> SmallSet { SmallSet(bits: bits & other.bits) }
  func subtracting(_ other: SmallSet) -> SmallSet { SmallSet(bits: bits & ~other.bits) }

  /// Removes and returns the lowest number. A `for` loop works on a copy, so it visits the numbers in ascending order.
  public mutating func next() -> Int? {
    guard bits != 0 else { return nil }
    let lowest = bits.trailingZeroBitCount
    bits &= bits - 1
    return lowest
  }
}

/// A list of up to sixteen small numbers.
public struct SmallList: Equatable, Sendable {
  private var items = SIMD16<UInt8>()
  private(set) var count = 0

  init() {}

  var isEmpty: Bool { count == 0 }
  subscript(position: Int) -> Int { Int(items[position]) }

  func contains(_ item: Int) -> Bool {
    for position in 0..<count where items[position] == UInt8(item) { return true }
    return false
  }

  mutating func append(_ item: Int) {
    precondition(count < 16, "more references than the model has room for")
    items[count] = UInt8(item)
    count += 1
  }

  mutating func prepend(_ item: Int) {
    append(item)
    var position = count - 1
    while position > 0 {
      items[position] = items[position - 1]
      position -= 1
    }
    items[0] = UInt8(item)
  }

  mutating func removeFirst() -> Int {
    let first = self[0]
    remove(at: 0)
    return first
  }

  /// Removes every occurrence.
  mutating func remove(_ item: Int) {
    var position = 0
    while position < count {
      if items[position] == UInt8(item) { remove(at: position) } else { position += 1 }
    }
  }

  mutating func removeAll() {
    items = SIMD16()
    count = 0
  }

  private mutating func remove(at position: Int) {
    for next in position..<(count - 1) { items[next] = items[next + 1] }
    count -= 1
    items[count] = 0
  }

  /// The numbers in order.
  public var array: [Int] { (0..<count).map { self[$0] } }
}

/// Four values that are stored in place, such as slices, lists or permits.
public typealias Four<Element> = InlineArray<4, Element>

/// SplitMix64: small, and the same on all machines for the same seed.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator. The same seed gives the same numbers.
  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number from 0 to `limit`, exclusive.
  mutating func below(_ limit: Int) -> Int { Int(((next() >> 32) &* UInt64(limit)) >> 32) }

  /// Returns true once in `number` times on average.
  mutating func once(in number: Int) -> Bool { below(number) == 0 }
}
