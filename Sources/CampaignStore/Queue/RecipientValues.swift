import PushCore
import Redis

/// Whether a campaign has placeholder values for single users.
extension Campaign {
  /// Whether Redis has placeholder values for the campaign's users.
  var hasValues: Bool { message.hasValuesBeside || !message.recipientValues.isEmpty }
}

/// Placeholder values that a producer uploads for the users of a campaign before it submits the job. The hash of the
/// user's partition has a JSON object for each user. If the job is not submitted in time, the values expire.
extension Queue {
  /// Seconds until values without a job expire: eight days, so that a producer can upload them a week ahead.
  static let valuesMemory = 8 * 86_400
  /// Maximum number of users in one call.
  public static let maximumValues = 1000

  /// Writes placeholder values of users for a campaign that is not taken in yet. They replace the users' earlier
  /// values.
  ///
  /// - Parameters:
  ///   - values: at most ``maximumValues`` JSON objects.
  ///   - id: the id of the campaign.
  /// - Throws: ``StoreError`` `invalid` if the campaign has been taken in, because some of its pushes may have been
  ///   sent.
  public func put(_ values: [(user: String, json: [UInt8])], of id: String) async throws {
    guard try await store.campaigns.status(of: id) == nil else {
      throw StoreError(
        .invalid, "campaign \(id) is already activated: its values can't be changed",
        hint: "upload the values before you submit the job")
    }
    var groups: [Int: [Int]] = [:]
    for index in values.indices {
      groups[Partition.of(user: values[index].user, count: keys.partitions), default: []].append(index)
    }
    var pipeline = RedisPipeline()
    for (partition, group) in groups {
      let key = keys.values(partition, id)
      for page in group.batches(of: Self.valuesBatch) {
        pipeline.command("HSET") { arguments in
          arguments.append(key)
          for index in page {
            arguments.append(values[index].user)
            arguments.append(values[index].json)
          }
        }
      }
      pipeline.append("EXPIRE", key, Self.valuesMemory)
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
  }

  /// Removes the expiry of the values when the job has been taken in. The values stay until the campaign ends.
  func keepValues(of campaign: Campaign) async throws {
    guard campaign.message.hasValuesBeside else { return }
    for page in (0..<keys.partitions).batches() {
      var pipeline = RedisPipeline()
      for partition in page {
        pipeline.append("PERSIST", keys.values(partition, campaign.id))
      }
      _ = try await run(pipeline)
    }
  }

  /// Returns the values of a user that were uploaded for a campaign; empty if there are none.
  func values(of user: String, in campaign: Campaign) async throws -> [UInt8] {
    guard campaign.message.hasValuesBeside else { return [] }
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.values(Partition.of(user: user, count: keys.partitions), campaign.whole), user)
    return try await run(pipeline)[0].bytes.map(Array.init) ?? []
  }

  /// Number of users in one command. The values of one user may have several kilobytes.
  static let valuesBatch = 50
}
