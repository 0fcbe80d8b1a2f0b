public import PushCore
import Redis

/// The decision whether a granted target is sent, in the form of `grant.lua`.
public struct GrantDecision: Sendable, Equatable {
  fileprivate let code: UInt32

  /// The target is sent, and Carillon sets no badge.
  public static let send = GrantDecision(code: 0)

  private static let firstWithheld: UInt32 = 0xffff_ff00

  fileprivate init(code: UInt32) { self.code = code }

  /// Creates the decision to withhold a target: workers do not send the push, and the target ends with this outcome.
  public init(withheldAs outcome: Outcome) { code = Self.firstWithheld + UInt32(outcome.rawValue) }

  /// The outcome of a target that is not sent; `nil` if the target is sent.
  public var withheld: Outcome? {
    code < Self.firstWithheld ? nil : Outcome(rawValue: UInt8(truncatingIfNeeded: code)) ?? .cancelled
  }

  /// The number that the push puts on the app's icon; `nil` for none.
  public var badge: Int? { code == 0 || code >= Self.firstWithheld ? nil : Int(code) }

  /// Returns the stored form of consecutive decisions.
  static func packed(_ decisions: some Sequence<GrantDecision>) -> [UInt8] {
    decisions.flatMap { decision in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: decision.code >> UInt32($0)) } }
  }

  /// Reads consecutive decisions.
  static func all(_ reply: RedisReply) -> [GrantDecision] {
    reply.withBytes { bytes in
      stride(from: 0, to: bytes.count - 3, by: 4).map { at in
        GrantDecision(code: bytes[at..<(at + 4)].reduce(0) { $0 << 8 | UInt32($1) })
      }
    }
  }
}

/// The ``GrantRules`` of a campaign, which decide about its targets, in the form that scripts read and with the keys of
/// one partition.
struct PackedGrantRules: Sendable {
  let app: [UInt8]
  /// Rules for frequency caps and badges; empty for none.
  let counting: [UInt8]
  /// The keys of the suppression lists that apply.
  let lists: [[UInt8]]

  init(_ rules: GrantRules, of campaign: String, in partition: Int, _ keys: Keyspace) {
    app = Array(rules.app.utf8)
    lists = rules.suppression.map { Array(keys.segment(partition, $0.segment).utf8) }
    counting = rules.countsUsers ? Self.counting(rules, of: campaign) : []
  }

  private static func counting(_ rules: GrantRules, of campaign: String) -> [UInt8] {
    var bytes = NameDigest.bytes(campaign) + category(rules.category)
    append(rules.memory, to: &bytes)
    append(rules.badgeStep, to: &bytes)
    for cap in rules.caps {
      bytes.append(cap.category == nil ? 1 : 0)
      bytes += category(cap.category)
      append(cap.most, to: &bytes)
      append(cap.seconds, to: &bytes)
    }
    return bytes
  }

  private static func category(_ name: String?) -> [UInt8] {
    name.map { Array(NameDigest.bytes($0).suffix(4)) } ?? [0, 0, 0, 0]
  }

  private static func append(_ number: Int, to bytes: inout [UInt8]) {
    let number = UInt32(clamping: number)
    for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(shift))) }
  }
}

extension SliceLedger {
  /// Maximum number of targets in one call of `regrant.lua`.
  private static let decisionsPerBatch = 256

  /// Checks two kinds of granted targets again: targets in doubt, and targets whose users may have departed
  /// (`departures.lua`).
  ///
  /// - Parameters:
  ///   - targets: the sealed targets.
  ///   - seal: the seal id of their list.
  /// - Returns: a decision about each target; `nil` if the slice has another seal id.
  public func regrant(_ targets: [SealedTarget], seal: [UInt8]) async throws -> [GrantDecision]? {
    var pipeline = RedisPipeline()
    for page in targets.batches(of: Self.decisionsPerBatch) {
      pipeline.script(StoreScripts.regrant, keys: regrantKeys) {
        $0.append(seal)
        $0.append(rules.app)
        $0.append(rules.counting)
        for target in page { target.write(to: &$0) }
      }
    }
    let decisions = try await store.run(pipeline).flatMap(GrantDecision.all)
    return decisions.count == targets.count ? decisions : nil
  }
}

/// A target of a slice's sealed list.
public struct SealedTarget: Sendable {
  /// Index of the target in the slice.
  public let index: Int
  /// The bytes of the token.
  public let token: ArraySlice<UInt8>
  /// The user's id in UTF-8; empty for a raw token of a job.
  public let user: ArraySlice<UInt8>

  func write(to arguments: inout RedisArguments) {
    arguments.append(index)
    arguments.append(token)
    arguments.append(user)
  }
}

extension TargetChunk {
  /// Returns the target at a position, counted from ``first``.
  public func target(_ position: Int) -> SealedTarget {
    SealedTarget(index: first + position, token: token(position), user: user(position))
  }

  /// Calls `body` with each of these positions and with the bytes of the user's id at this position.
  public func forEachUser(_ positions: Range<Int>, _ body: (Int, UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      for position in positions {
        let place = places[position]
        body(position, UnsafeRawBufferPointer(rebasing: bytes[Int(place.user)..<Int(place.end)]))
      }
    }
  }
}

/// A digest of a campaign's id for the records of recent campaigns, of which Redis stores millions. It has 64 bits, so
/// two campaigns of one user almost never have the same digest.
enum NameDigest {
  /// Returns the 64-bit FNV-1a hash of a name.
  static func bytes(_ name: String) -> [UInt8] {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(56 - 8 * $0)) }
  }
}
