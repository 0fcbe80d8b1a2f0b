import Redis

/// The users of a partition who have lost a device or entered a suppression list since an earlier time.
public struct NewDepartures: Sendable, Equatable {
  /// The number of departures so far.
  public var number: Int
  /// The fingerprints of the users, see ``UserFingerprint``; `nil` if Redis no longer stores all of them, because it
  /// stores only the last 512.
  public var users: [UInt32]?

  /// Creates a value from its parts.
  public init(number: Int, users: [UInt32]?) {
    self.number = number
    self.users = users
  }

  /// Reads the last two parts of the reply of `commit.lua`; `nil` if the number has not changed.
  init?(number: RedisReply, users: RedisReply) {
    guard let number = number.integer, number >= 0 else { return nil }
    self.number = number
    guard let bytes = users.bytes else { return }
    self.users = stride(from: 0, to: bytes.count - 3, by: 4).map { at in
      bytes[(bytes.startIndex + at)..<(bytes.startIndex + at + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }
  }
}

/// A hash of a user's id, small enough to store one for each departure. Two users may have the same hash.
public enum UserFingerprint {
  /// Returns the 32-bit FNV-1a hash of an id in UTF-8, as `fingerprint` in `depart.lua` computes it.
  public static func of(_ user: some Sequence<UInt8>) -> UInt32 {
    var hash: UInt32 = 0x811c_9dc5
    for byte in user { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    return hash
  }
}
