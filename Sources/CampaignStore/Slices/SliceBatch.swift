public import PushCore
import Redis

/// Result of sealing one slice of a `SliceBatch`.
public struct SealAnswer: Sendable {
  /// Whether the targets are sealed; false if another worker has the claim.
  public var isSealed: Bool
  /// Answer to the commit that followed, if there was one.
  public var commit: CommitAnswer?
  /// Counters of the slice after its close, if the slice had no targets.
  public var counters: SliceCounters?
}

/// A batch of slices of one campaign, with few targets each. A worker claims, expands and seals these slices together.
/// Each of these steps takes one round trip for all slices. An error in one slice does not affect the others.
public struct SliceBatch: Sendable {
  private struct Member {
    let ledger: SliceLedger
    var walk: MemberWalk
    var builder: TargetBuilder
  }

  private let store: CampaignStore
  private let isOfTokens: Bool
  private let filter: DeviceFilter
  private var members: [Member]

  /// Creates a batch of slices.
  ///
  /// - Parameters:
  ///   - ledgers: the ledgers of the slices, all of one campaign.
  ///   - store: the pinned store that has the slices.
  ///   - campaign: the campaign of the slices.
  ///   - filter: the device filter of the campaign.
  ///   - quotas: the maximum number of users of each partition; `nil` for all users.
  ///   - now: approximate time in ms since the epoch, for quiet hours.
  public init(
    _ ledgers: [SliceLedger], store: CampaignStore, of campaign: Campaign, filter: DeviceFilter,
    quotas: AudienceQuotas? = nil, now: Int = 0
  ) {
    self.store = store
    self.filter = filter
    // All slices share one search, because it does not depend on the partition.
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

  /// Claims the slices and reads the first part of their audience, in one round trip. The reads don't wait for the
  /// claims, because reading needs no claim.
  ///
  /// - Returns: for each slice the answer of ``SliceLedger/claim(worker:gracePeriod:)``.
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
        let answer = try await members[position].ledger.answer(
          toClaim: replies[0], worker: worker, gracePeriod: gracePeriod)
        if case .claimed(let progress) = answer { members[position].builder.set(departures: progress.departures) }
        answers.append(.success(answer))
        receive(replies.suffix(part.reads), at: position)
      } catch {
        answers.append(.failure(error))
      }
    }
    return answers
  }

  /// Reads the rest of the audience of the slices at these positions.
  ///
  /// - Returns: the number of targets of each slice, in the order of the positions. `nil` means that the slice has too
  ///   many members for a batch, and that nothing was written for it.
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

  /// Returns the targets of the slice at a position after its expansion.
  public func targets(of position: Int) -> SealedTargets { members[position].builder.targets }

  /// Seals the targets of slices that are expanded. In the same round trip, Redis grants targets of each slice, and
  /// closes the slices without targets.
  ///
  /// - Parameter credits: the maximum number of targets to grant, for each position; 0 for no commit.
  /// - Returns: the result for each slice, in the order of `credits`.
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
    CommitRequest(seal: ledger.claim, expected: .acknowledged(SliceVersion()), credit: credit)
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

  /// Replies to the commands of one slice.
  private struct Part {
    var replies: ArraySlice<Result<RedisReply, StoreError>>
    /// Number of replies to commands that read the audience. They are the last replies of the slice.
    var reads: Int
  }

  /// Runs the commands of several slices in one round trip.
  ///
  /// - Parameters:
  ///   - positions: the positions of the slices; `nil` for all.
  ///   - write: appends the commands of one slice. The commands that read the audience come last, and the closure
  ///     returns their number.
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

/// A commit to a slice, and then a close of the slice. Either may be left out.
public struct SliceCommit: Sendable {
  /// The slice and its claim.
  public let ledger: SliceLedger
  /// Outcomes to merge, at most 500.
  public var outcomes: OutcomeBatch
  /// The request of the commit; `nil` for no commit.
  public let request: CommitRequest?
  /// Whether to close the slice if no target is left.
  public let closes: Bool

  /// Creates a commit.
  public init(ledger: SliceLedger, outcomes: OutcomeBatch, request: CommitRequest?, closes: Bool) {
    self.ledger = ledger
    self.outcomes = outcomes
    self.request = request
    self.closes = closes
  }
}

/// Result of a ``SliceCommit``.
public struct SliceCommitAnswer: Sendable {
  /// Answer to the commit, if there was one.
  public var commit: CommitAnswer?
  /// Final counters of the slice, if it has ended.
  public var counters: SliceCounters?
}

extension Slices {
  /// Runs commits to several slices, and closes slices, in one round trip. An error of one slice does not affect the
  /// others.
  ///
  /// - Returns: the result for each commit, in the same order.
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
      // Take both replies from the list before either of them can throw.
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
