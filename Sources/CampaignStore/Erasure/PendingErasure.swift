import PushCore
import Redis

/// An erasure that is not complete, with its remaining steps. The hash `erasing` contains it under the user's id until
/// the last step.
struct PendingErasure {
  /// Time of the erasure, in ms since the epoch.
  var at: Int
  /// The user's tokens at that time. They are needed to find raw tokens of jobs, and events without a user.
  private(set) var tokens: [Registry.OwnedToken] = []
  /// Slices that a worker is building and that may contain the user; `nil` if no step has been completed.
  var slices: [SliceReference]?

  /// Ids of jobs that waited during the erasure and list the user or a token. A worker removes the user and the tokens
  /// when it takes such a job in.
  var jobs: Set<String> = []

  /// Maximum time in seconds until an erasure is complete. An unsealed list of targets expires an hour after its claim
  /// (`claim.lua`). Another hour leaves time for a round of housekeeping after a failover.
  static let longest = 2 * 3600

  init(at: Int) { self.at = at }

  /// Adds the tokens of devices that were registered before the erasure.
  ///
  /// - Returns: whether a token was added.
  @discardableResult
  mutating func add(_ devices: [DeviceRecord], until instant: Int) -> Bool {
    let known = tokens.count
    for device in devices where device.registeredAt <= UInt64(max(0, instant)) {
      let token = Registry.OwnedToken(device.token, device.service)
      if !tokens.contains(where: { $0.bytes == token.bytes && $0.service == token.service }) { tokens.append(token) }
    }
    return tokens.count > known
  }

  /// The form that is stored in Redis: words separated by blanks. The words are the time, `t SERVICE HEX` for each
  /// token, `q ID` for each waiting job, and `*` or `s PARTITION:ID` for each slice. `*` means that no step has been
  /// completed.
  var text: String {
    var words = ["\(at)"]
    for token in tokens { words += ["t", token.service, String(decoding: Hex.encode(token.bytes), as: UTF8.self)] }
    for id in jobs.sorted() { words += ["q", id] }
    if let slices { for slice in slices { words += ["s", slice.description] } } else { words.append("*") }
    return words.joined(separator: " ")
  }

  private static func bytes(ofHex text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { at in
      UInt8(String(decoding: digits[at..<(at + 2)], as: UTF8.self), radix: 16)
    }
    return bytes.count == digits.count / 2 ? bytes : nil
  }

  /// Reads ``text``; `nil` if it has another format.
  init?(_ text: String) {
    var words = text.split(separator: " ").map(String.init)[...]
    guard let at = words.popFirst().flatMap({ Int($0) }) else { return nil }
    self.at = at
    slices = []
    while let word = words.popFirst() {
      switch word {
      case "t":
        guard let service = words.popFirst(), let bytes = words.popFirst().flatMap(Self.bytes(ofHex:)) else {
          return nil
        }
        tokens.append(Registry.OwnedToken(bytes, service))
      case "s":
        guard let slice = words.popFirst().flatMap({ SliceReference($0, partitions: 1 << 14) }) else { return nil }
        slices?.append(slice)
      case "q":
        guard let id = words.popFirst() else { return nil }
        jobs.insert(id)
      case "*": slices = nil
      default: return nil
      }
    }
  }
}

extension Erasure {
  /// Largest number of erasures in one round of housekeeping.
  private static let erasuresPerBatch = 20

  func pendingErasure(of user: String) async throws -> PendingErasure? {
    var pipeline = RedisPipeline()
    pipeline.append("HGET", keys.erasing, user)
    return try await run(pipeline)[0].string.flatMap(PendingErasure.init)
  }

  /// Stores the remaining steps of an erasure.
  func save(_ pending: PendingErasure, of user: String) async throws {
    var pipeline = RedisPipeline()
    pipeline.append("HSET", keys.erasing, user, pending.text)
    _ = try await run(pipeline)
  }

  /// Removes the record of a complete erasure, or stores the remaining steps.
  ///
  /// - Returns: whether the erasure is complete.
  func saveProgress(_ pending: PendingErasure, of user: String) async throws -> Bool {
    guard pending.slices?.isEmpty ?? false, pending.jobs.isEmpty else {
      try await save(pending, of: user)
      return false
    }
    var pipeline = RedisPipeline()
    pipeline.append("HDEL", keys.erasing, user)
    _ = try await run(pipeline)
    return true
  }

  /// Completes erasures whose process ended too early, and erasures that wait for the seal of a slice. A failed erasure
  /// does not block the others.
  ///
  /// - Returns: the number of erasures that this call has completed.
  /// - Throws: the latest failure, after it has tried all erasures.
  @discardableResult
  public func finishErasures() async throws -> Int {
    var pipeline = RedisPipeline()
    pipeline.append("HSCAN", keys.erasing, "0", "COUNT", Self.erasuresPerBatch)
    let pairs = try await run(pipeline)[0][1]
    var finished = 0
    var failure: (any Error)?
    for index in stride(from: 0, to: pairs.count - 1, by: 2).shuffled().prefix(Self.erasuresPerBatch) {
      guard let user = pairs[index].string else { continue }
      do {
        if try await finish(pairs[index + 1].string.flatMap(PendingErasure.init), of: user) { finished += 1 }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return finished
  }

  /// Completes one erasure.
  /// - Parameter pending: `nil` if the record is damaged. The time is then unknown, and the erasure is repeated with
  ///   the present time.
  /// - Returns: whether the erasure is complete.
  private func finish(_ pending: PendingErasure?, of user: String) async throws -> Bool {
    guard var pending, let slices = pending.slices else {
      return try await erase(user, at: pending?.at).completeBy == nil
    }
    pending.slices = try await erase(user, pending.tokens, from: slices).building
    if !pending.jobs.isEmpty {
      let waiting = try await waitingJobs(naming: user, pending.tokens)
      let gone = pending.jobs.subtracting(waiting)
      if !gone.isEmpty {
        // These jobs are campaigns or entries of the dead list now.
        let building = pending.slices ?? []
        _ = try await eraseFromCampaigns(user, &pending, only: gone)
        let added = pending.slices ?? []
        pending.slices = added + building.filter { !added.contains($0) }
        pending.jobs.subtract(gone)
      }
    }
    // Erase the user from the event stream and the dead list again. A worker writes the outcomes of a slice to the
    // event stream after it has built the slice, and a waiting job may have moved to the dead list.
    if pending.slices?.isEmpty ?? false, pending.jobs.isEmpty {
      try await eraseFromEvents(user, pending.tokens)
      try await eraseFromDeadList(user, pending.tokens)
    }
    return try await saveProgress(pending, of: user)
  }
}
