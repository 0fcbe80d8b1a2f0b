/// A payload with places that differ from push to push. What stands around them is JSON already, and what is put into them
/// is text within a string: values are data, they can't break the JSON.
public struct PayloadTemplate: Sendable, Equatable {
  /// Something that is not the same for all.
  enum Slot: Equatable {
    /// A value, by its place in ``PersonalContent/values``.
    case value(Int)
    /// The push's own id, as a UUID.
    case id
    /// The number that the push puts on the app's icon: its target's, or the fallback where it has none.
    case badge
    /// The text begins that may be shortened.
    case textBegins
    /// It ends.
    case textEnds
  }

  /// What comes before a slot, and what stands for a value where the user has none.
  struct Piece: Equatable {
    var literal: Range<Int>
    var slot: Slot
    var fallback: Range<Int>
  }

  /// Literals and fallbacks, as they are sent.
  private(set) var bytes: [UInt8] = []
  private(set) var pieces: [Piece] = []
  /// What comes behind the last slot.
  private var rest = 0..<0
  private var literalStart = 0

  // MARK: Making

  /// Adds JSON as it is sent.
  mutating func add(_ json: some Sequence<UInt8>) {
    bytes.append(contentsOf: json)
    rest = literalStart..<bytes.count
  }

  /// Adds a slot.
  ///
  /// - Parameter fallback: as it is sent.
  mutating func add(_ slot: Slot, fallback: [UInt8] = []) {
    let literal = literalStart..<bytes.count
    bytes.append(contentsOf: fallback)
    pieces.append(Piece(literal: literal, slot: slot, fallback: literal.upperBound..<bytes.count))
    literalStart = bytes.count
    rest = literalStart..<literalStart
  }

  // MARK: Sizes

  /// Bytes of a UUID as text.
  static let idLength = 36
  /// Digits of the largest badge.
  static let badgeLength = 10

  /// Bytes when every value is at its fallback.
  public var size: Int { size { _ in nil } }

  /// The least that shortening leaves of ``size``.
  var shortestSize: Int { shortestSize { _ in nil } }

  /// - Parameter length: bytes of the value at a place; `nil` for its fallback.
  func size(_ length: (Int) -> Int?) -> Int { size { place, fallback in length(place) ?? fallback } }

  /// - Parameter length: bytes of the value at a place, which has a fallback of so many.
  private func size(_ length: (Int, Int) -> Int) -> Int {
    rest.count + pieces.reduce(0) { $0 + $1.literal.count + bytes(of: $1, length) }
  }

  /// The least that shortening leaves of a size.
  func shortestSize(_ length: (Int) -> Int?) -> Int { shortestSize { place, fallback in length(place) ?? fallback } }

  /// - Parameter length: bytes of the value at a place, which has a fallback of so many.
  func shortestSize(_ length: (Int, Int) -> Int) -> Int {
    let size = size(length)
    guard let begin = pieces.firstIndex(where: { $0.slot == .textBegins }),
      let end = pieces.firstIndex(where: { $0.slot == .textEnds })
    else { return size }
    let text = pieces[(begin + 1)...end].reduce(0) { $0 + $1.literal.count + bytes(of: $1, length) }
    return size - text + min(text, Self.ellipsis.count)
  }

  private func bytes(of piece: Piece, _ length: (Int, Int) -> Int) -> Int {
    switch piece.slot {
    case .value(let place): length(place, piece.fallback.count)
    case .id: Self.idLength
    case .badge: Self.badgeLength
    case .textBegins, .textEnds: 0
    }
  }

  /// Whether a text may be shortened.
  var canShorten: Bool { pieces.contains { $0.slot == .textBegins } }

  /// The places of the values in it, each as often as it stands there.
  var places: [Int] {
    pieces.compactMap { if case .value(let place) = $0.slot { place } else { nil } }
  }

  // MARK: Writing

  /// What stands where a text was shortened.
  static let ellipsis = Array("…".utf8)

  /// Writes the payload of one push.
  ///
  /// - Parameters:
  ///   - values: of the target, as ``PersonalContent`` has written them.
  ///   - id: of the push.
  ///   - most: bytes that a payload may have.
  ///   - payload: where it is appended.
  /// - Returns: whether it is within `most`; otherwise nothing was appended.
  func write(
    _ values: TargetValues, id: (high: UInt64, low: UInt64), most: Int, to payload: inout [UInt8]
  ) -> Bool {
    let start = payload.count
    var text: (begin: Int, end: Int)?
    bytes.withUnsafeBytes { bytes in
      func add(_ range: Range<Int>) { payload.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[range])) }
      for piece in pieces {
        add(piece.literal)
        switch piece.slot {
        case .value(let place):
          if let value = values[place] { payload.append(contentsOf: value) } else { add(piece.fallback) }
        case .id: UUIDText.append(id, to: &payload)
        case .badge:
          if let badge = values.badge { Self.append(badge, to: &payload) } else { add(piece.fallback) }
        case .textBegins: text = (payload.count, payload.count)
        case .textEnds: text?.end = payload.count
        }
      }
      add(rest)
    }
    let excess = payload.count - start - most
    guard excess > 0 else { return true }
    if let text, Self.shorten(&payload, text.begin..<text.end, by: excess) { return true }
    payload.removeLast(payload.count - start)
    return false
  }

  /// Appends a number that is not negative.
  private static func append(_ number: Int, to payload: inout [UInt8]) {
    let start = payload.count
    var rest = number
    repeat {
      payload.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    } while rest > 0
    payload[start...].reverse()
  }

  /// Shortens a text within a JSON string between two graphemes.
  ///
  /// - Returns: false when that is not enough.
  private static func shorten(_ json: inout [UInt8], _ place: Range<Int>, by excess: Int) -> Bool {
    let most = place.count - excess - ellipsis.count
    guard most >= 0, let value = try? JSONValue(parsing: [0x22] + json[place] + [0x22], maximumDepth: 1),
      case .string(let text) = value.kind
    else { return false }
    var kept: [UInt8] = []
    for character in text {
      let next = JSONWriter.escaped(String(character))
      guard kept.count + next.count <= most else { break }
      kept += next
    }
    json.replaceSubrange(place, with: kept + ellipsis)
    return true
  }
}
