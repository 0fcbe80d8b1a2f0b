import PushCore
import Redis

/// Finds the damaged key after a command or a script has failed because of the type or value of a key.
extension Repair {
  /// Returns the error for a command that Redis refused. If a damaged key is the cause, the error names the key and its
  /// expected value.
  ///
  /// - Parameters:
  ///   - position: place of the refused command.
  ///   - pipeline: the pipeline of the command.
  func explain(_ error: RedisServerError, of position: Int, in pipeline: RedisPipeline) async -> StoreError {
    let names = pipeline.keys(of: position)
    if error.code == .noPermission {
      // Redis 7 does not name the keys, nor the command inside a script.
      var explained = StoreError(error)
      explained.message += " (\(pipeline.name(of: position)), \(names.joined(separator: ", ")))"
      return explained
    }
    let stored = names.compactMap { StoredKey($0, keys) }
    guard error.code == .wrongType || Self.isOfValue(error), let found = await inspect(stored) else {
      guard Self.isOfValue(error), let damage = Self.subject(of: stored) else { return StoreError(error) }
      return StoreError(damage, "values of \(names.joined(separator: ", ")) are corrupt: \(error.message)")
    }
    await setAside(found, error.code == .wrongType ? stored : [])
    return found
  }

  /// Returns the error for keys from which an impossible value was read.
  ///
  /// - Parameter names: names of the keys. If no damage is found, the error names the first key.
  func damaged(_ names: [String]) async -> StoreError {
    let stored = names.compactMap { StoredKey($0, keys) }
    let found =
      await inspect(stored)
      ?? StoreError(stored.first?.damage ?? .shared, "the value of the key \(names[0]) is corrupt")
    await setAside(found, [])
    return found
  }

  /// Isolates a damaged key that workers can rebuild, if this store may do so.
  ///
  /// - Parameter stored: keys that may have a wrong type.
  private func setAside(_ error: StoreError, _ stored: [StoredKey]) async {
    guard store.setsAside, case .list(let key)? = error.damage else { return }
    await setAside(key, type: stored.first { $0.name == key }?.type)
  }

  /// Finds the damage of a slice from which an impossible value was read.
  public func inspect(_ slice: SliceReference) async -> StoreError {
    let names = [keys.slice(slice.partition, of: slice.campaign), keys.targets(slice.partition, slice.campaign)]
    return await inspect(names.compactMap { StoredKey($0, keys) })
      ?? StoreError(.slice(slice), "the key \(names[0]) does not agree with \(names[1])")
  }

  /// Returns the error of the first damaged key; `nil` if none is damaged or Redis does not answer.
  private func inspect(_ stored: [StoredKey]) async -> StoreError? {
    do {
      var pipeline = RedisPipeline()
      for key in stored { pipeline.append("TYPE", key.name) }
      for (key, reply) in zip(stored, try await redis.execute(pipeline)) {
        if let type = try reply.get().string, type != "none", type != key.type { return .type(of: key, is: type) }
      }
      for key in stored {
        if key.name == keys.epoch, case let epoch = try await redis.command("GET", key.name).get(), !epoch.isNull,
          !(0...StoredHash.maximumCounted ~= epoch.integer ?? -1)
        {
          return StoreError(
            key.damage, "the key \(key.name) is \(Excerpt.quoted(epoch.string ?? "")), expected a whole number")
        }
        guard let hash = key.hash else { continue }
        let fields = try await read(hash.fields, of: key)
        try fields.check()
        guard case .slice(let slice) = key.damage, try fields.text("phase") == "sealed" else { continue }
        let pages = try await redis.command("LLEN", keys.targets(slice.partition, slice.campaign)).get().integer ?? 0
        _ = try fields.number("count", upTo: pages * TargetPage.size)
      }
    } catch let error as StoreError where error.code == .damaged {
      return error
    } catch {
      // This error comes from the inspection itself and says nothing about the damage.
    }
    return nil
  }

  private func read(_ fields: [String], of key: StoredKey) async throws -> StoredFields {
    var pipeline = RedisPipeline()
    pipeline.command("HMGET") { arguments in
      arguments.append(key.name)
      for field in fields { arguments.append(field) }
    }
    let reply = try await redis.execute(pipeline)[0].get()
    return StoredFields(key, fields, reply)
  }

  /// Returns the affected part of the store if a script found an impossible value, but the inspection did not find it.
  private static func subject(of stored: [StoredKey]) -> Damage? {
    for key in stored {
      if case .slice = key.damage { return key.damage }
    }
    for key in stored {
      if case .campaign = key.damage { return key.damage }
    }
    return nil
  }

  /// Returns whether a script has failed because of a value: it returned `DAMAGED`, or tried to compute with a text
  /// that is not a number.
  private static func isOfValue(_ error: RedisServerError) -> Bool {
    if error.code.rawValue == "DAMAGED" { return true }
    return error.code == .generic && Self.failures.contains { error.message.contains($0) }
  }

  /// Messages of Lua and Redis about values. Other messages do not count as damage.
  private static let failures = [
    "attempt to perform arithmetic", "attempt to compare", "attempt to index", "attempt to concatenate",
    "bad argument #", "not an integer", "not a valid float", "would overflow", "out of range", "exceeds maximum",
    "too many results to unpack",
  ]
}
