import Redis

/// A note: the data of registrations in progress, from which any worker can complete them. `bind.lua` writes a note
/// about registrations that have begun, and `upsert.lua` writes one about devices that were removed from their users.
struct RegistrationNote {
  /// A registration that has begun.
  struct Begun {
    var registration: DeviceRegistration
    /// The former user of the token; empty if there is none.
    var old: String
  }

  /// Name of the note: a field of the hash `moving`.
  var name: [UInt8]
  /// The registrations to complete; empty if the bytes have another format.
  var begun: [Begun] = []
  /// Devices that were removed from their users and whose tokens are still in the owner index.
  var left: [(user: String, device: DeviceRecord)] = []
  /// The tokens of all devices in the note, including those of complete registrations.
  var tokens: [[UInt8]] = []

  /// Mark of `bind.lua` for a registration that needs no completion.
  private static let none = 0xffff
  /// First four bytes of a note about removed devices.
  private static let ofLeft = 0xffff_ffff

  /// Returns a random and therefore unique name.
  static func newName() -> [UInt8] {
    let number = UInt64.random(in: .min ... .max)
    return stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
  }

  /// Reads a note.
  ///
  /// - Parameters:
  ///   - name: name of the field.
  ///   - value: the note in one of two formats. The first one has the u32 length of the registrations, the
  ///     registrations (each u16 length and id of the user, device record, u32 length and attributes), and then the
  ///     entries that `bind.lua` describes. `upsert.lua` describes the second one.
  init(name: [UInt8], value: RedisReply) {
    self.name = name
    if value.withBytes({ bytes in
      var reader = Reader(bytes: bytes)
      return reader.length32() == Self.ofLeft
    }) {
      left = value.withBytes(Self.left)
      tokens = left.map(\.device.token)
      return
    }
    (begun, tokens) = value.withBytes { bytes in
      var reader = Reader(bytes: bytes)
      guard let length = reader.length32(), let registrations = reader.take(length) else { return ([], []) }
      var begun: [Begun?] = []
      var row = Reader(bytes: registrations)
      while let registration = row.registration() { begun.append(Begun(registration: registration, old: "")) }
      let tokens = begun.compactMap { $0?.registration.device.token }
      while let place = reader.length16(), let old = reader.length16() {
        guard begun.indices.contains(place) else { return ([], tokens) }
        if old == Self.none {
          begun[place] = nil
        } else {
          guard let user = reader.take(old) else { return ([], tokens) }
          begun[place]?.old = String(decoding: user, as: UTF8.self)
        }
      }
      return (begun.compactMap { $0 }, tokens)
    }
  }

  private static func left(_ bytes: UnsafeRawBufferPointer) -> [(user: String, device: DeviceRecord)] {
    var reader = Reader(bytes: bytes)
    var left: [(user: String, device: DeviceRecord)] = []
    _ = reader.length32()
    while let user = reader.length16().flatMap({ reader.take($0) }), let device = reader.device() {
      left.append((String(decoding: user, as: UTF8.self), device))
    }
    return left
  }

  /// Reads the fields of a note one after another; `nil` after the end of the bytes.
  private struct Reader {
    let bytes: UnsafeRawBufferPointer
    private var at = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
      guard at + count <= bytes.count else { return nil }
      defer { at += count }
      return UnsafeRawBufferPointer(rebasing: bytes[at..<(at + count)])
    }

    mutating func length16() -> Int? { take(2)?.length(at: 0) }
    mutating func length32() -> Int? { take(4).map { $0.length(at: 0) << 16 | $0.length(at: 2) } }

    mutating func registration() -> DeviceRegistration? {
      guard let user = length16().flatMap({ take($0) }), let device = device(),
        let attributes = length32().flatMap({ take($0) })
      else { return nil }
      return DeviceRegistration(
        user: String(decoding: user, as: UTF8.self), device: device, attributes: Array(attributes))
    }

    mutating func device() -> DeviceRecord? {
      guard at + 2 <= bytes.count else { return nil }
      return take(2 + bytes.length(at: at)).flatMap { DeviceRecord.all(in: $0).first }
    }
  }
}
