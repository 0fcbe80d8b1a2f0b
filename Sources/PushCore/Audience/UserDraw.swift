/// Deterministic pseudo-random numbers of users. The number of a user is the same at any time and on any worker, so
/// users are assigned to groups without a stored list.
public struct UserDraw: Sendable, Equatable {
  private let salt: [UInt8]

  /// - Parameter salt: text that makes the numbers independent of other draws, such as the campaign's id and the name
  ///   of the decision.
  public init(salt: String) {
    self.salt = Array(salt.utf8)
  }

  /// Returns the number of a user: 64 bits, each of them equally random.
  public func bits(_ user: UnsafeRawBufferPointer) -> UInt64 {
    // The hash is FNV-1a with the finalizer of SplitMix64, which makes every bit depend on all input bits.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in salt { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    hash = (hash ^ 0xFF) &* 0x0000_0100_0000_01b3
    for byte in user { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    hash = (hash ^ hash >> 30) &* 0xbf58_476d_1ce4_e5b9
    hash = (hash ^ hash >> 27) &* 0x94d0_49bb_1331_11eb
    hash ^= hash >> 31
    return hash
  }

  /// Returns the number of a user as a fraction, at least 0 and less than 1.
  public func share(_ user: UnsafeRawBufferPointer) -> Double { Double(bits(user) >> 11) * 0x1p-53 }
}

/// Pseudo-random share of all users. At any time and on any worker, the share consists of the same users.
public struct UserSample: Sendable, Equatable {
  /// Share: more than 0, less than 1.
  public let share: Double
  private let draw: UserDraw

  /// - Parameters:
  ///   - share: more than 0, less than 1.
  ///   - salt: text that makes the sample independent of other samples, such as the campaign's id.
  public init(share: Double, salt: String) {
    self.share = share
    draw = UserDraw(salt: salt)
  }

  /// Returns whether a user belongs to the sample.
  public func has(_ user: UnsafeRawBufferPointer) -> Bool { draw.share(user) < share }
}
