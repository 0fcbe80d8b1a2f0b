public import PushCore
import Redis

/// What became of the targets of a slice of a bunch.
public struct SealAnswer: Sendable {
  /// Whether they are sealed; not when another has the claim.
  public var isSealed: Bool
  /// To the commit that followed, if one did.
  public var commit: CommitAnswer?
  /// What the slice ended with, if it had no targets.
  public var counters: SliceCounters?
}

/// Slices of one campaign, each with few targets, that are claimed, expanded and sealed together: a round trip a step,
/// however many there are. What fails for one of them fails for that one alone.
public struct SliceBunch: Sendable {
  private struct Member {
    let ledger: SliceLedger
    var walk: MemberWalk
    var builder: TargetBuilder
  }

  private let store: CampaignStore
  private let isOfTokens: Bool
  private let filter: DeviceFilter
  private var members: [Member]

  /// - Parameters:
  ///   - ledgers: of the slices, all of one campaign.
  ///   - store: where they are, pinned.
  ///   - campaign: theirs.
  ///   - filter: likewise.
  ///   - quotas: how many users each partition takes; `nil` for all.
  ///   - now: ms since the epoch, more or less: whose quiet hours it is.
  public init(
    _ ledgers: [SliceLedger], store: CampaignStore, of campaign: Campaign, filter: DeviceFilter,
    quotas: AudienceQuotas? = nil, now: Int = 0
  ) {
    self.store = store
    self.filter = filter
    // It is looked at once for all.
    let search = AudienceSearch(campaign, start: filter.start)
    isOfTokens = search == nil
    members = ledgers.map { ledger in
      let partition = ledger.slice.partition
      let source = search.map { .users($0) } ?? store.expansion.source(of: campaign, start: filter.start, in: partition)
      return Member(
        ledger: ledger, walk: MemberWalk(source, in: partition, reading: filter.asks, store.keys),
        builder: TargetBuilder(
          ledger: ledger, filter: filter, quota: quotas.map { $0[partition] }, now: now))
    }
  }

  /// Claims the slices, and reads the first of their audience; it is nobody's business who has a claim when that is read.
  ///
  /// - Returns: for each slice what ``SliceLedger/claim(worker:gracePeriod:)`` does.
  public mutating func claim(
    worker: String, gracePeriod: Int
  ) async throws -> [Result<ClaimAnswer, any Error>] {
    let replies = try await run { member, pipeline in
      member.ledger.claim(worker: worker, gracePeriod: gracePeriod, to: &pipeline)
      let written = pipeline.count
      member.walk.read(to: &pipeline)
      return pipeline.count - written
    }
    var answers: [Result<ClaimAnswer, any Error>] = []
    for (position, part) in replies.enumerated() {
      do {
        let replies = try part.replies.map { try $0.get() }
        let answer = try await members[position].ledger.answer(toClaim: replies[0])
        if case .claimed(let standing) = answer { members[position].builder.note(departures: standing.departures) }
        answers.append(.success(answer))
        receive(replies.suffix(part.reads), at: position)
      } catch {
        answers.append(.failure(error))
      }
    }
    return answers
  }

  /// Reads the rest of the audience of the slices at some positions.
  ///
  /// - Returns: how many targets each of them has, in their order; `nil` for one that has too many members for a bunch, and
  ///   of which nothing was written.
  public mutating func expand(_ positions: [Int]) async throws -> [Result<Int?, any Error>] {
    var failures: [Int: any Error] = [:]
    while true {
      let unfinished = Set(
        positions.filter { failures[$0] == nil && !members[$0].walk.isOver && !members[$0].walk.isLarge })
      guard !unfinished.isEmpty else { break }
      let replies = try await run(unfinished) { member, pipeline in
        member.walk.read(to: &pipeline)
        return pipeline.count
      }
      for (position, part) in zip(unfinished.sorted(), replies) {
        do {
          receive(try part.replies.map { try $0.get() }[...], at: position)
        } catch {
          failures[position] = error
        }
      }
    }
    return positions.map { position in
      if let error = failures[position] { return .failure(error) }
      guard members[position].walk.isOver else { return .success(nil) }
      members[position].builder.finish()
      return .success(members[position].builder.targets.count)
    }
  }

  /// The targets of the slice at a position, once it is expanded.
  public func targets(of position: Int) -> SealedTargets { members[position].builder.targets }

  /// Seals slices that are expanded. Each is granted credit in the same round trip, and one without targets ends in it.
  ///
  /// - Parameter credits: for each position how many targets may be granted; 0 for no commit.
  /// - Returns: for each what became of it, in their order.
  public mutating func seal(
    _ credits: [(position: Int, credit: Int)]
  ) async throws -> [Result<SealAnswer, any Error>] {
    var pipeline = RedisPipeline(reserving: 2048 * credits.count)
    var ends: [Int] = []
    for (position, credit) in credits {
      let ledger = members[position].ledger
      members[position].builder.seal(to: &pipeline)
      if members[position].builder.targets.count == 0 {
        ledger.close(.finish, to: &pipeline)
      } else if credit > 0 {
        ledger.write(OutcomeBatch(), Self.request(ledger, credit), to: &pipeline)
      }
      ends.append(pipeline.count)
    }
    let replies = try await store.runEach(pipeline)
    var answers: [Result<SealAnswer, any Error>] = []
    for (number, (position, credit)) in credits.enumerated() {
      let part = replies[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
      do {
        answers.append(
          .success(try await answer(try part.map { try $0.get() }, of: members[position], credit: credit)))
      } catch {
        answers.append(.failure(error))
      }
    }
    return answers
  }

  private static func request(_ ledger: SliceLedger, _ credit: Int) -> CommitRequest {
    CommitRequest(seal: ledger.claim, standing: .acknowledged(SliceVersion()), credit: credit)
  }

  private func answer(_ replies: [RedisReply], of member: Member, credit: Int) async throws -> SealAnswer {
    let isEmpty = member.builder.targets.count == 0
    let sealed = replies.count - (isEmpty || credit > 0 ? 2 : 1)
    guard replies[sealed].integer == 1 else { return SealAnswer(isSealed: false) }
    var answer = SealAnswer(isSealed: true)
    if isEmpty {
      if case .closed(let counters) = try member.ledger.answer(toClose: replies[replies.count - 1]) {
        answer.counters = counters
      }
    } else if credit > 0 {
      answer.commit = try await member.ledger.answer(
        toCommit: replies[replies.count - 1], of: OutcomeBatch(), Self.request(member.ledger, credit))
    }
    return answer
  }

  private mutating func receive(_ replies: ArraySlice<RedisReply>, at position: Int) {
    let page = members[position].walk.receive(replies)
    guard !page.isEmpty else { return }
    if isOfTokens {
      members[position].builder.add(tokens: page.members)
    } else {
      members[position].builder.add(page, filter: filter)
    }
  }

  /// What Redis said to the commands of one slice.
  private struct Part {
    var replies: ArraySlice<Result<RedisReply, StoreError>>
    /// How many of them, the last ones, are what was read.
    var reads: Int
  }

  /// Runs the commands of several slices in one round trip.
  ///
  /// - Parameters:
  ///   - positions: of the slices; `nil` for all.
  ///   - write: writes those of one; returns how many of them, the last ones, read the audience.
  private mutating func run(
    _ positions: Set<Int>? = nil, _ write: (inout Member, inout RedisPipeline) -> Int
  ) async throws -> [Part] {
    var pipeline = RedisPipeline(reserving: 1024 * members.count)
    var parts: [(end: Int, reads: Int)] = []
    for position in members.indices where positions?.contains(position) ?? true {
      var commands = RedisPipeline()
      let reads = write(&members[position], &commands)
      pipeline.append(commands)
      parts.append((pipeline.count, reads))
    }
    let replies = try await store.runEach(pipeline)
    return parts.indices.map { number in
      Part(
        replies: replies[(number == 0 ? 0 : parts[number - 1].end)..<parts[number].end], reads: parts[number].reads)
    }
  }
}

/// A commit to a slice, and the end of the slice behind it: both are optional.
public struct SliceCommit: Sendable {
  /// Which slice, under which claim.
  public let ledger: SliceLedger
  /// At most 500.
  public var outcomes: OutcomeBatch
  /// What is asked for; `nil` for no commit.
  public let request: CommitRequest?
  /// Whether the slice is to end, if nothing is left of it.
  public let closes: Bool

  /// Memberwise.
  public init(ledger: SliceLedger, outcomes: OutcomeBatch, request: CommitRequest?, closes: Bool) {
    self.ledger = ledger
    self.outcomes = outcomes
    self.request = request
    self.closes = closes
  }
}

/// What became of a ``SliceCommit``.
public struct SliceCommitAnswer: Sendable {
  /// To the commit, if there was one.
  public var commit: CommitAnswer?
  /// What the slice ended with, if it has.
  public var counters: SliceCounters?
}

extension Slices {
  /// Runs commits to several slices, and their ends, in one round trip. What fails for one fails for that one alone.
  ///
  /// - Returns: for each what became of it, in their order.
  public func commit(_ commits: inout [SliceCommit]) async throws -> [Result<SliceCommitAnswer, any Error>] {
    var pipeline = RedisPipeline(reserving: 1024 * commits.count)
    for position in commits.indices {
      commits[position].outcomes.sort()
      let commit = commits[position]
      if let request = commit.request { commit.ledger.write(commit.outcomes, request, to: &pipeline) }
      if commit.closes { commit.ledger.close(.finish, to: &pipeline) }
    }
    var replies = try await runEach(pipeline)[...]
    var answers: [Result<SliceCommitAnswer, any Error>] = []
    for commit in commits {
      // Both are taken off before either may throw.
      let (committed, closed) = (
        commit.request == nil ? nil : replies.popFirst(), commit.closes ? replies.popFirst() : nil
      )
      do {
        var answer = SliceCommitAnswer()
        if let request = commit.request, let committed {
          answer.commit = try await commit.ledger.answer(toCommit: committed.get(), of: commit.outcomes, request)
        }
        if let closed, case .closed(let counters) = try commit.ledger.answer(toClose: closed.get()) {
          answer.counters = counters
        }
        answers.append(.success(answer))
      } catch {
        answers.append(.failure(error))
      }
    }
    return answers
  }
}
