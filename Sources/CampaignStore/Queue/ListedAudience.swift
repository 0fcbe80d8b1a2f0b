import PushCore
import Redis

/// The users and tokens that a job lists.
extension Queue {
  /// Returns the partitions in which a campaign has slices before it begins to expand. If the job lists users, these
  /// are the partitions of the users. For any other audience, these are all partitions.
  func listedPartitions(of campaign: Campaign) -> [Int] {
    guard case .users(let users) = campaign.recipients.audience else { return Array(0..<keys.partitions) }
    // An erasure may have removed every user. A campaign without a slice would never end.
    if users.isEmpty { return [0] }
    return Set(users.map { Partition.of(user: $0, count: keys.partitions) }).sorted()
  }

  /// Writes the listed users or tokens of a campaign into their partitions.
  ///
  /// - Returns: the partitions that get a slice: those with a listed user or token, or all partitions if workers must
  ///   search for the audience.
  func writeAudience(of campaign: Campaign) async throws -> [Int] {
    try await keepValues(of: campaign)
    var members: [Int: [[UInt8]]] = [:]
    switch campaign.recipients.audience {
    case .segment, .campaign, .activity: return Array(0..<keys.partitions)
    case .users(let users):
      for user in users {
        members[Partition.of(user: user, count: keys.partitions), default: []].append(Array(user.utf8))
      }
    case .tokens(let tokens):
      let service = services.first(of: campaign)
      for token in tokens {
        members[Partition.of(token: token.bytes, of: service, count: keys.partitions), default: []].append(token.bytes)
      }
    case .channel(let id):
      let service = services.first(of: campaign)
      members[Partition.of(token: Array(id.utf8), of: service, count: keys.partitions)] = [Array(id.utf8)]
    }
    var pipeline = RedisPipeline()
    for (partition, list) in members {
      for page in list.batches() {
        pipeline.command("SADD") { arguments in
          arguments.append(keys.audience(partition, campaign.id))
          for member in page { arguments.append(member) }
        }
      }
    }
    for (partition, list) in members where !campaign.message.recipientValues.isEmpty {
      let known = list.filter { campaign.message.recipientValues[String(decoding: $0, as: UTF8.self)] != nil }
      // The values of one user may have several kilobytes.
      for page in known.batches(of: Self.valuesBatch) {
        pipeline.command("HSET") { arguments in
          arguments.append(keys.values(partition, campaign.id))
          for user in page {
            arguments.append(user)
            arguments.append(campaign.message.recipientValues[String(decoding: user, as: UTF8.self)] ?? [])
          }
        }
      }
    }
    if !pipeline.isEmpty { _ = try await run(pipeline) }
    // An erasure may have removed every member. A campaign without a slice would never end.
    return members.isEmpty ? [0] : members.keys.sorted()
  }
}
