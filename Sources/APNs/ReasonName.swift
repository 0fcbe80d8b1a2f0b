extension Reason {
  /// The reason that Apple spells this way; ``other`` for a spelling this table doesn't know, ``none`` for no bytes.
  ///
  /// Rejections are a few in a hundred, and at most four names share a length: a scan beats hashing.
  public init(name: UnsafeRawBufferPointer) {
    guard name.count > 0 else {
      self = .none
      return
    }
    for entry in Self.spellings where entry.bytes.count == name.count && entry.bytes.elementsEqual(name) {
      self = entry.reason
      return
    }
    self = .other
  }

  /// The same for text.
  public init(name: some StringProtocol) {
    self = Array(name.utf8).withUnsafeBytes { Reason(name: $0) }
  }

  private static let spellings: [(bytes: [UInt8], reason: Reason)] =
    allCases.filter { !$0.name.isEmpty }.map { (Array($0.name.utf8), $0) } + [
      // Documented with "KeyId", seen on the wire with "Key" (APNSwift, October 2025).
      (Array("BadEnvironmentKeyInToken".utf8), .badEnvironmentKeyIdInToken),
      // As Apple's page on broadcasts prints it.
      (Array("Service Unavailable".utf8), .serviceUnavailable),
    ]
}
