public import PushCore
import Redis

/// What was decided of a slice's targets when they were admitted, from the first on. Nobody grants a target before that.
public struct AdmittedTargets: Sendable, Equatable {
  /// As `admit.lua` writes them.
  private(set) var decisions: [UInt32] = []

  /// None yet.
  public init() {}

  /// How many are admitted.
  public var count: Int { decisions.count }

  private static let capped = UInt32.max

  /// Whether a target does not get the push, as its user has had enough.
  public func isCapped(_ index: Int) -> Bool { index < decisions.count && decisions[index] == Self.capped }

  /// The number that a target's push puts on the app's icon; `nil` for none.
  public func badge(of index: Int) -> Int? {
    guard index < decisions.count, decisions[index] != 0, decisions[index] != Self.capped else { return nil }
    return Int(decisions[index])
  }

  /// - Returns: false for what can't be a page of them.
  mutating func append(page: UnsafeRawBufferPointer) -> Bool {
    guard page.count % 4 == 0, 1...TargetPage.size ~= page.count / 4 else { return false }
    for at in stride(from: 0, to: page.count, by: 4) {
      decisions.append(page[at..<(at + 4)].reduce(0) { $0 << 8 | UInt32($1) })
    }
    return true
  }

  /// The decisions of a page, as they are stored.
  func page(_ number: Int) -> [UInt8] {
    let first = number * TargetPage.size
    return decisions[first..<min(first + TargetPage.size, count)].flatMap { decision in
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: decision >> $0) }
    }
  }
}

/// What asking for targets to be admitted came to.
public enum AdmitAnswer: Sendable {
  case admitted
  /// The claim is another's, or the list of targets is.
  case stale
  /// Redis has lost what was admitted before.
  case forgotten
}

/// Admission: a step between seal and grant, for campaigns of which something is counted for each user.
extension SliceLedger {
  /// Pages that are admitted in one round trip at most: each takes Redis some 0.2 ms.
  private static let pagesAtOnce = 16

  private var admissionKeys: [[UInt8]] {
    let (partition, id, keys) = (slice.partition, slice.campaign, store.keys)
    return [
      keys.slice(partition, of: id), keys.targets(partition, id), keys.admitted(partition, id),
      keys.pressure(partition), keys.users(partition),
    ].map { Array($0.utf8) }
  }

  /// Has targets admitted that are not, page by page. What was decided of a page before is told again.
  ///
  /// - Parameters:
  ///   - admitted: what is known so far; what is decided is added.
  ///   - last: the index of the last target that is wanted.
  ///   - seal: the name of the list of targets.
  ///   - rules: what is counted.
  public func admit(
    _ admitted: inout AdmittedTargets, through last: Int, seal: [UInt8], by rules: AdmissionRules
  ) async throws -> AdmitAnswer {
    while admitted.count <= last {
      let first = admitted.count / TargetPage.size
      var pipeline = RedisPipeline()
      for page in first...min(last / TargetPage.size, first + Self.pagesAtOnce - 1) {
        admit(page: page, seal: seal, by: rules, to: &pipeline)
      }
      for reply in try await store.run(pipeline) {
        switch try await answer(toAdmit: reply, &admitted) {
        case .admitted: continue
        case let answer: return answer
        }
      }
    }
    return .admitted
  }

  /// Tells Redis again what had been decided, as far as it has lost it.
  public func readmit(_ admitted: AdmittedTargets, seal: [UInt8], by rules: AdmissionRules) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HGET", commitKeys[0], "admitted")
    guard case let known = try await store.run(pipeline)[0], !known.isNull else { return }
    let pages = (admitted.count + TargetPage.size - 1) / TargetPage.size
    var next = try await number(known, upTo: StoredHash.mostTargets) / TargetPage.size
    while next < pages {
      let end = min(next + Self.pagesAtOnce, pages)
      pipeline.removeAll()
      for page in next..<end {
        admit(page: page, seal: seal, by: rules, telling: admitted.page(page), to: &pipeline)
      }
      _ = try await store.run(pipeline)
      next = end
    }
  }

  /// Writes the admission of a page.
  ///
  /// - Parameter telling: what was decided before Redis lost it; nothing for what is yet to be decided.
  func admit(
    page: Int, seal: [UInt8], by rules: AdmissionRules, telling decisions: [UInt8] = [],
    to pipeline: inout RedisPipeline
  ) {
    pipeline.script(StoreScripts.admit, keys: admissionKeys) { arguments in
      arguments.append(claim)
      arguments.append(seal)
      arguments.append(page)
      arguments.append(TargetPage.size)
      arguments.append(rules.app)
      arguments.append(NameDigest.bytes(slice.campaign))
      arguments.append(rules.category.map(Self.category) ?? [])
      arguments.append(rules.memory)
      arguments.append(rules.badgeStep)
      arguments.append(decisions)
      for cap in rules.caps {
        arguments.append(cap.category.map(Self.category) ?? [])
        arguments.append(cap.most)
        arguments.append(cap.seconds)
      }
    }
  }

  private static func category(_ name: String) -> [UInt8] { Array(NameDigest.bytes(name).suffix(4)) }

  /// What Redis' answer to an admission says; adds what was decided.
  func answer(toAdmit reply: RedisReply, _ admitted: inout AdmittedTargets) async throws -> AdmitAnswer {
    switch reply.first?.integer {
    case 0: return .stale
    case 2: return .forgotten
    case 1:
      guard reply.count == 2, reply[1].withBytes({ admitted.append(page: $0) }) else {
        throw StoreError(
          .slice(slice),
          "the key \(store.keys.admitted(slice.partition, slice.campaign)) has decisions that nothing of ours has written"
        )
      }
      return .admitted
    default: throw await store.inspect(slice)
    }
  }
}

/// A short form of a name, for what is kept by the million: 64 bits, so that two campaigns of one user never meet.
enum NameDigest {
  /// FNV-1a.
  static func bytes(_ name: String) -> [UInt8] {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return (0..<8).map { UInt8(truncatingIfNeeded: hash >> UInt64(56 - 8 * $0)) }
  }
}
