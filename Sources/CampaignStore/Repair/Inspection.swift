import PushCore
import Redis

/// Finding out what is wrong with keys of which Redis, or a script of ours, has refused to make anything.
extension Repair {
  /// What a refusal means: with the key, and what it should be, where that is what is wrong.
  ///
  /// - Parameters:
  ///   - position: of the refused command.
  ///   - pipeline: where it stands.
  func explain(_ error: RedisServerError, of position: Int, in pipeline: RedisPipeline) async -> StoreError {
    let names = pipeline.keys(of: position)
    if error.code == .noPermission {
      // Redis 7 names neither the keys, nor a script's command.
      var explained = StoreError(error)
      explained.message += " (\(pipeline.name(of: position)), \(names.joined(separator: ", ")))"
      return explained
    }
    let stored = names.compactMap { StoredKey($0, keys) }
    guard error.code == .wrongType || Self.isOfValue(error), let found = await inspect(stored) else {
      guard Self.isOfValue(error), let damage = Self.subject(of: stored) else { return StoreError(error) }
      return StoreError(damage, "values of \(names.joined(separator: ", ")) can't be right: \(error.message)")
    }
    await setAside(found, error.code == .wrongType ? stored : [])
    return found
  }

  /// What is wrong with keys of which something was read that can't be right.
  ///
  /// - Parameter names: of the keys; the first is taken to be the one where nothing is found.
  func damaged(_ names: [String]) async -> StoreError {
    let stored = names.compactMap { StoredKey($0, keys) }
    let found =
      await inspect(stored)
      ?? StoreError(stored.first?.damage ?? .shared, "the value of the key \(names[0]) can't be right")
    await setAside(found, [])
    return found
  }

  /// Sets a list aside that is damaged, where that is for us to do.
  ///
  /// - Parameter stored: keys of which one may have another type.
  private func setAside(_ error: StoreError, _ stored: [StoredKey]) async {
    guard store.setsAside, case .list(let key)? = error.damage else { return }
    await setAside(key, type: stored.first { $0.name == key }?.type)
  }

  /// Looks for what is wrong with a slice of which something was read that can't be right.
  public func inspect(_ slice: SliceReference) async -> StoreError {
    let names = [keys.slice(slice.partition, of: slice.campaign), keys.targets(slice.partition, slice.campaign)]
    return await inspect(names.compactMap { StoredKey($0, keys) })
      ?? StoreError(.slice(slice), "the key \(names[0]) does not agree with \(names[1])")
  }

  /// The first of these keys that is damaged; `nil` when none is, or Redis can't be asked.
  private func inspect(_ stored: [StoredKey]) async -> StoreError? {
    do {
      var pipeline = RedisPipeline()
      for key in stored { pipeline.append("TYPE", key.name) }
      for (key, reply) in zip(stored, try await redis.execute(pipeline)) {
        if let type = try reply.get().string, type != "none", type != key.type { return .type(of: key, is: type) }
      }
      for key in stored {
        if key.name == keys.epoch, case let epoch = try await redis.command("GET", key.name).get(), !epoch.isNull,
          !(0...StoredHash.mostCounted ~= epoch.integer ?? -1)
        {
          return StoreError(
            key.damage, "the key \(key.name) is \(Excerpt.quoted(epoch.string ?? "")), but should be a whole number")
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
      // What Redis was asked is not what is wrong.
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

  /// Who is concerned when a script finds values that can't be right, and they are not found.
  private static func subject(of stored: [StoredKey]) -> Damage? {
    for key in stored {
      if case .slice = key.damage { return key.damage }
    }
    for key in stored {
      if case .campaign = key.damage { return key.damage }
    }
    return nil
  }

  /// Whether a script has failed on a value: scripts of ours say so by `DAMAGED`, or compute with what is no number.
  private static func isOfValue(_ error: RedisServerError) -> Bool {
    if error.code.rawValue == "DAMAGED" { return true }
    return error.code == .generic && Self.failures.contains { error.message.contains($0) }
  }

  /// What Lua and Redis say of values: nothing else is taken for damage.
  private static let failures = [
    "attempt to perform arithmetic", "attempt to compare", "attempt to index", "attempt to concatenate",
    "bad argument #", "not an integer", "not a valid float", "would overflow", "out of range", "exceeds maximum",
    "too many results to unpack",
  ]
}
