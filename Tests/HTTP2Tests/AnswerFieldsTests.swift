import TestKit
import TestSupport
import Testing

@testable import HTTP2

/// The reuse of a repeated header block. The same blocks in two pieces are never reused, so they show what a block
/// means.
@Suite struct AnswerFieldsTests {
  private let whole: AnswerFields
  private let split: AnswerFields

  init() throws {
    whole = try AnswerFields()
    split = try AnswerFields()
  }

  /// `retry-after` as a name of the static table: number 53 (RFC 7541 appendix A), in a literal with 4 bits of prefix.
  private static let retryAfter: [UInt8] = [0x0f, 53 - 15]

  /// Reads a block with both readers. Returns whether it is HPACK.
  private func read(_ block: [UInt8], splitAt place: Int = 0) -> Bool {
    let isValid = block.withUnsafeBytes { whole.read($0, isLast: true) }
    let first = Array(block[..<place])
    let rest = Array(block[place...])
    let isValidInPieces =
      first.withUnsafeBytes { split.read($0, isLast: false) } && rest.withUnsafeBytes { split.read($0, isLast: true) }
    expect(isValid, is: isValidInPieces, "\(block)")
    if isValid { expect(whole.content, is: split.content, "\(block)") }
    return isValid
  }

  @Test func repeatedBlockHasTheSameContent() {
    let block = [0x8d] + Self.retryAfter + [2] + Array("77".utf8)
    for _ in 0..<3 {
      expect(read(block))
      expect(whole.content.status == 404 && whole.content.retryAfter == 77)
    }
  }

  /// Each of the two equal blocks adds an entry to the table, so the entry of the first block has the number 63.
  @Test func repeatedBlockThatAddsToTheTableIsDecodedAgain() {
    let block: [UInt8] = [0x88, 0x40 | 53, 2] + Array("77".utf8)
    expect(read(block) && read(block))
    expect(read([0x88, 0x80 | 63]))
    expect(whole.content.retryAfter, is: 77)
  }

  /// The block in between adds an entry, so the number 62 has another meaning.
  @Test func blockIsDecodedAgainAfterAnotherOne() {
    let entry: (String) -> [UInt8] = { [0x88, 0x40 | 53, 2] + Array($0.utf8) }
    expect(read(entry("11")))
    expect(read([0x8e, 0x80 | 62]))
    expect(whole.content.retryAfter, is: 11)
    expect(read(entry("22")))
    expect(read([0x8e, 0x80 | 62]))
    expect(whole.content.retryAfter, is: 22)
  }

  @Test func blockInPiecesDoesNotCountAsRepeated() {
    expect(read([0x88, 0x40 | 53, 2] + Array("11".utf8)))
    expect(read([0x8e, 0x80 | 62]))
    let pieces: [[UInt8]] = [[0x8d, 0x40 | 53, 2], Array("22".utf8)]
    for reader in [whole, split] {
      for (index, piece) in pieces.enumerated() {
        expect(piece.withUnsafeBytes { reader.read($0, isLast: index == 1) })
      }
    }
    expect(read([0x8e, 0x80 | 62]))
    expect(whole.content.retryAfter, is: 22)
  }

  @Test func brokenBlockStaysBroken() {
    let block: [UInt8] = [0x88, 0x80 | 70]
    expect(!read(block))
    expect(!read(block))
  }

  /// Random instructions of HPACK, and random bytes. Half of the blocks repeat the block before.
  @Test func reuseNeverChangesTheContent() throws {
    var random = Seed("header blocks")
    var repeated = 0
    for _ in 0..<300 {
      let test = try AnswerFieldsTests()
      // Adds the entries 62 and 63.
      var block: [UInt8] = [0x88, 0x40 | 53, 1, 0x31, 0x40 | 53, 1, 0x32]
      for _ in 0..<100 {
        if Bool.random(using: &random) {
          repeated += 1
        } else {
          block = Self.block(&random)
        }
        guard test.read(block, splitAt: Int.random(in: 0...block.count, using: &random)) else { break }
      }
    }
    expect(repeated > 1000)
  }

  private static func block(_ random: inout some RandomNumberGenerator) -> [UInt8] {
    var block: [UInt8] = []
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let value = (0..<Int.random(in: 1...3, using: &random)).map { _ in UInt8.random(in: 48...57, using: &random) }
      switch Int.random(in: 0..<400, using: &random) {
      case 0: block.append(UInt8.random(in: 0...255, using: &random))
      case 1: block.append(UInt8.random(in: 0x20...0x3e, using: &random))
      case 2..<90: block += [0x40 | 53, UInt8(value.count)] + value
      case 90..<140: block += [0x40, 3] + Array("x-a".utf8) + [UInt8(value.count)] + value
      case 140..<180: block += [0, 3] + Array("x-a".utf8) + [UInt8(value.count)] + value
      case 180..<220: block += retryAfter + [UInt8(value.count)] + value
      case 220..<260: block += [0x80 | 62]
      case 260..<280: block += [0x80 | 63]
      default: block.append(UInt8.random(in: 0x88...0x8e, using: &random))
      }
    }
    return block
  }
}
