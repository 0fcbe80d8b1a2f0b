/// Payload with *slots*: places whose text differs from push to push. The text around the slots is JSON. Text in a slot
/// is escaped as in a JSON string, so it can't break the JSON.
public struct PayloadTemplate: Sendable, Equatable {
  /// Kind of a slot.
  enum Slot: Equatable {
    /// Value of a placeholder, by its position in ``PersonalContent/values``.
    case value(Int)
    /// The push's own id, as a UUID.
    case id
    /// Badge count that the push sets: the badge of the target, or the fallback if the target has no badge.
    case badge
    /// Number of seconds until the push expires.
    case lifetime
    /// Beginning of the text that may be shortened.
    case textBegins
    /// End of the text that may be shortened.
    case textEnds
  }

  /// A slot with the literal text before it and the fallback for users without a value.
  struct Piece: Equatable {
    var literal: Range<Int>
    var slot: Slot
    var fallback: Range<Int>
  }

  /// Number of bytes outside all slots that the service does not count against its size limit.
  var uncounted = 0
  /// Literals and fallbacks in the form in which they are sent.
  private(set) var bytes: [UInt8] = []
  private(set) var pieces: [Piece] = []
  /// Literal after the last slot.
  private(set) var rest = 0..<0
  private var literalStart = 0

  // MARK: Building

  /// Appends JSON in the form in which it is sent.
  mutating func add(_ json: some Sequence<UInt8>) {
    bytes.append(contentsOf: json)
    rest = literalStart..<bytes.count
  }

  /// Appends a slot.
  ///
  /// - Parameter fallback: the fallback in the form in which it is sent.
  mutating func add(_ slot: Slot, fallback: [UInt8] = []) {
    let literal = literalStart..<bytes.count
    bytes.append(contentsOf: fallback)
    pieces.append(Piece(literal: literal, slot: slot, fallback: literal.upperBound..<bytes.count))
    literalStart = bytes.count
    rest = literalStart..<literalStart
  }

  // MARK: Sizes

  /// Length of a UUID as text, in bytes.
  static let idLength = 36
  /// Number of digits of the largest badge.
  static let badgeLength = 10

  /// Size in bytes with the fallbacks of all values.
  public var size: Int { size { _ in nil } }

  /// Size in bytes with the fallbacks of all values, after shortening as far as possible.
  var shortestSize: Int { shortestSize { _ in nil } }

  /// Returns the size in bytes with values of the given lengths, without shortening.
  ///
  /// - Parameter length: returns the length in bytes of the value at a position; `nil` for its fallback.
  func size(_ length: (Int) -> Int?) -> Int { size { place, fallback in length(place) ?? fallback } }

  /// Returns the size in bytes with values of the given lengths, without shortening.
  ///
  /// - Parameter length: returns the length in bytes of the value at a position, given the length of its fallback.
  private func size(_ length: (Int, Int) -> Int) -> Int {
    rest.count + pieces.reduce(0) { $0 + $1.literal.count + bytes(of: $1, length) }
  }

  /// Returns the size of the payload with values of these lengths, after shortening as far as possible.
  func shortestSize(_ length: (Int) -> Int?) -> Int { shortestSize { place, fallback in length(place) ?? fallback } }

  /// Returns the size in bytes with values of the given lengths, after shortening as far as possible.
  ///
  /// - Parameter length: returns the length in bytes of the value at a position, given the length of its fallback.
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
    // The lifetime does not count against the limit, as in `write`.
    case .lifetime: 0
    case .textBegins, .textEnds: 0
    }
  }

  /// Whether a text may be shortened.
  var canShorten: Bool { pieces.contains { $0.slot == .textBegins } }

  /// Positions of the values in the template, with repetitions.
  var places: [Int] {
    pieces.compactMap { if case .value(let place) = $0.slot { place } else { nil } }
  }

  // MARK: Writing

  /// Replacement for the removed part of a shortened text.
  static let ellipsis = Array("…".utf8)

  /// Writes the payload of one push.
  ///
  /// - Parameters:
  ///   - values: the values of the target, as ``PersonalContent`` wrote them.
  ///   - id: the id of the push.
  ///   - lifetime: seconds until the push expires.
  ///   - most: maximum size of a payload in bytes. The bytes in ``uncounted`` do not count.
  ///   - payload: the buffer to which the payload is appended.
  /// - Returns: whether the payload fits in `most`. If not, nothing is appended.
  func write(
    _ values: TargetValues, id: (high: UInt64, low: UInt64), lifetime: Int = 0, most: Int, to payload: inout [UInt8]
  ) -> Bool {
    let start = payload.count
    var uncounted = uncounted
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
        case .lifetime:
          let begin = payload.count
          Self.append(lifetime, to: &payload)
          uncounted += payload.count - begin
        case .textBegins: text = (payload.count, payload.count)
        case .textEnds: text?.end = payload.count
        }
      }
      add(rest)
    }
    let excess = payload.count - start - uncounted - most
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

  /// Shortens a text within a JSON string, at a boundary between graphemes.
  ///
  /// - Returns: false if shortening is not sufficient.
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
