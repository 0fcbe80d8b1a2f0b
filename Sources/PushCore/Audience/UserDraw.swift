/// A number that a user draws, the same whenever and wherever it is asked: users are told apart by it without anybody
/// keeping a list.
public struct UserDraw: Sendable, Equatable {
  private let salt: [UInt8]

  /// - Parameter salt: what makes it another draw than others: the campaign's id, and what is decided by it.
  public init(salt: String) {
    self.salt = Array(salt.utf8)
  }

  /// All 64 bits are as good as each other.
  public func bits(_ user: UnsafeRawBufferPointer) -> UInt64 {
    // FNV-1a, and the finalizer of SplitMix64, which makes all bits depend on all.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in salt { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    hash = (hash ^ 0xFF) &* 0x0000_0100_0000_01b3
    for byte in user { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
    hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
    hash ^= hash >> 31
    return hash
  }

  /// From 0 up to 1, without 1. 53 bits are what a Double has.
  public func share(_ user: UnsafeRawBufferPointer) -> Double { Double(bits(user) >> 11) * 0x1p-53 }
}

/// A share of all users, the same ones whenever and wherever it is asked.
public struct UserSample: Sendable, Equatable {
  /// More than 0, less than 1.
  public let share: Double
  private let draw: UserDraw

  /// - Parameters:
  ///   - share: more than 0, less than 1.
  ///   - salt: what makes it another sample than others': the campaign's id.
  public init(share: Double, salt: String) {
    self.share = share
    draw = UserDraw(salt: salt)
  }

  /// Whether a user is in it.
  public func has(_ user: UnsafeRawBufferPointer) -> Bool { draw.share(user) < share }
}
