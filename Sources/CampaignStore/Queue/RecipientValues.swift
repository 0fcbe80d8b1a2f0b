import PushCore
import Redis

extension Campaign {
  /// Whether values of its users stand in the store.
  var hasValues: Bool { message.hasValuesBeside || !message.recipientValues.isEmpty }
}

/// What is said of the users of a campaign beside its job, before that is submitted: for each a JSON object in the hash of its
/// partition. Where no job comes it expires.
extension Queue {
  /// Seconds for which values wait for their job: eight days, so that they may be brought a week ahead.
  static let valuesMemory = 8 * 86_400
  /// The most users that are written at once.
  public static let mostValues = 1000

  /// Writes values of users of a campaign that is yet to be taken in; what a user had there is replaced.
  ///
  /// - Parameters:
  ///   - values: at most ``mostValues``; JSON objects.
  ///   - id: the campaign's.
  /// - Throws: ``StoreError`` `invalid` when the campaign has been taken in: some of it may have been sent.
  public func put(_ values: [(user: String, json: [UInt8])], of id: String) async throws {
    guard try await store.campaigns.standing(of: id) == nil else {
      throw StoreError(
        .invalid, "campaign \(id) has been taken in: its values are fixed",
        hint: "bring them before its job is submitted")
    }
    var groups: [Int: [Int]] = [:]
    for index in values.indices {
      groups[Partition.of(user: values[index].user, count: keys.partitions), default: []].append(index)
    }
    var pipeline = RedisPipeline()
    for (partition, group) in groups {
      let key = keys.values(partition, id)
      for start in stride(from: 0, to: group.count, by: Self.valuesBatch) {
        pipeline.command("HSET") { arguments in
          arguments.append(key)
          for index in group[start..<min(start + Self.valuesBatch, group.count)] {
            arguments.append(values[index].user)
            arguments.append(values[index].json)
          }
        }
      }
      pipeline.append("EXPIRE", key, Self.valuesMemory)
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
  }

  /// The job has come: its values stay until its campaign ends.
  func keepValues(of campaign: Campaign) async throws {
    guard campaign.message.hasValuesBeside else { return }
    for start in stride(from: 0, to: keys.partitions, by: CampaignStore.batch) {
      var pipeline = RedisPipeline()
      for partition in start..<min(start + CampaignStore.batch, keys.partitions) {
        pipeline.append("PERSIST", keys.values(partition, campaign.id))
      }
      _ = try await run(pipeline)
    }
  }

  /// What the store has of a user beside the job of a campaign; nothing where it has nothing.
  func values(of user: String, in campaign: Campaign) async throws -> [UInt8] {
    guard campaign.message.hasValuesBeside else { return [] }
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.values(Partition.of(user: user, count: keys.partitions), campaign.whole), user)
    return try await run(pipeline)[0].bytes.map(Array.init) ?? []
  }

  /// Users of whom one command writes what is said: of one it may be some kilobytes.
  static let valuesBatch = 50
}
