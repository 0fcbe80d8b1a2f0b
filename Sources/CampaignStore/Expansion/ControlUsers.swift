import PushCore
import Redis

/// Users of a slice who are in a control group, in pages. A page stores two values for each user: the length of the id
/// (16 bits, big-endian) and the id in UTF-8. An erased user has the length 0.
public struct ControlUsers: Sendable {
  /// Number of users.
  public private(set) var count = 0
  private var bytes: [UInt8] = []
  /// End of each page in `bytes`.
  private var ends: [Int] = []

  /// Number of users on a page.
  static let pageSize = 500

  mutating func add(_ user: UnsafeRawBufferPointer) {
    guard 1...Int(UInt16.max) ~= user.count else { return }
    if count % Self.pageSize == 0, count > 0 { ends.append(bytes.count) }
    bytes.append(length: user.count)
    bytes += user
    count += 1
  }

  /// The consecutive pages, as stored.
  var pages: [ArraySlice<UInt8>] {
    guard count > 0 else { return [] }
    let starts = [0] + ends
    return zip(starts, ends + [bytes.count]).map { bytes[$0..<$1] }
  }

  /// Returns the users of a stored page who were not erased.
  static func users(on page: UnsafeRawBufferPointer) -> [String] {
    var users: [String] = []
    var at = 0
    while at + 2 <= page.count, at + 2 + page.length(at: at) <= page.count {
      let end = at + 2 + page.length(at: at)
      if end > at + 2 { users.append(String(decoding: page[(at + 2)..<end], as: UTF8.self)) }
      at = end
    }
    return users
  }
}

/// The users in the control groups of campaigns.
extension Expansion {
  /// Calls `body` with the users of a campaign's control group, slice by slice. Slices that are not expanded yet are
  /// left out.
  ///
  /// - Parameter body: gets at most ``ControlUsers/pageSize`` users at a time.
  /// - Throws: ``StoreError`` `notFound`.
  public func forEachControlUser(of id: String, _ body: ([String]) throws -> Void) async throws {
    guard let record = try await store.campaigns.find(id) else { throw store.campaigns.noSuchCampaign(id) }
    for stage in record.stages {
      for partition in stage.reachedPartitions { try await forEachControlUser(of: stage.id, in: partition, body) }
    }
  }

  private func forEachControlUser(of id: String, in partition: Int, _ body: ([String]) throws -> Void) async throws {
    var first = 0
    while true {
      var pipeline = RedisPipeline()
      pipeline.append("LRANGE", keys.control(partition, id), first, first + Self.controlPages - 1)
      let pages = try await run(pipeline)[0]
      for page in pages { try body(page.withBytes(ControlUsers.users)) }
      guard pages.count == Self.controlPages else { return }
      first += pages.count
    }
  }

  /// Number of pages that one command reads or writes.
  static let controlPages = 4
}
