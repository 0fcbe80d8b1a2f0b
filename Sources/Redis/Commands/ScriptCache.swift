/// What a connection knows about the server's script cache: the SHA-1 of each script that it loaded, in the server's own
/// words. Pure.
struct ScriptCache {
  /// Calls that met with NOSCRIPT, and what runs them again.
  struct Repetition {
    var pipeline: RedisPipeline
    /// Which answers of ``pipeline`` take the place of which of the first ones.
    var answers: [(new: Int, old: Int)]
  }

  private var hashes: [ObjectIdentifier: [UInt8]] = [:]

  /// The scripts of a pipeline that were never loaded here, each once.
  func missing(in pipeline: RedisPipeline) -> [RedisScript] {
    var seen: Set<ObjectIdentifier> = []
    return pipeline.scriptCalls.lazy.map(\.script).filter { [hashes] script in
      let id = ObjectIdentifier(script)
      return hashes[id] == nil && seen.insert(id).inserted
    }
  }

  /// What loads the scripts.
  static func loading(_ scripts: [RedisScript], into version: RedisVersion?) -> RedisPipeline {
    var pipeline = RedisPipeline()
    for script in scripts { pipeline.append("SCRIPT", "LOAD", script.source(for: version)) }
    return pipeline
  }

  /// Notes the answers to ``loading(_:into:)``.
  mutating func note(_ replies: [RedisReply], for scripts: [RedisScript], endpoint: String) throws(RedisError) {
    for (script, reply) in zip(scripts, replies) {
      guard let hash = reply.bytes, reply.kind == .bulk, hash.count == RedisPipeline.hashLength else {
        let answer = reply.error ?? RedisServerError(line: "unexpected answer \(reply)")
        throw Handshake.refusal(answer, step: "loading the script \(script.name)", endpoint: endpoint)
      }
      hashes[ObjectIdentifier(script)] = Array(hash)
    }
  }

  /// The pipeline with the hashes that are known.
  func filled(_ pipeline: RedisPipeline) -> RedisPipeline {
    var filled = pipeline
    for call in pipeline.scriptCalls {
      if let hash = hashes[ObjectIdentifier(call.script)] { filled.fill(call, with: hash) }
    }
    return filled
  }

  /// What loads again the scripts that a flush or a restart took away, and runs again, in their order, the calls that met
  /// with NOSCRIPT: one round trip. Such a call has had no effect, so nothing runs twice.
  ///
  /// - Returns: `nil` when no call met with it.
  static func repetition(
    of pipeline: RedisPipeline, after replies: [RedisReply], into version: RedisVersion?
  ) -> Repetition? {
    let lost = pipeline.scriptCalls.filter { replies[$0.position].isNoScript }
    guard !lost.isEmpty else { return nil }
    var seen: Set<ObjectIdentifier> = []
    var again = loading(lost.map(\.script).filter { seen.insert(ObjectIdentifier($0)).inserted }, into: version)
    var answers: [(new: Int, old: Int)] = []
    for call in lost {
      // It was good for one command only, and that was the refused one.
      if call.position > 0, pipeline.isAsking(call.position - 1) { again.copy(call.position - 1, from: pipeline) }
      answers.append((again.count, call.position))
      again.copy(call.position, from: pipeline)
    }
    return Repetition(pipeline: again, answers: answers)
  }
}

extension RedisReply {
  fileprivate var isNoScript: Bool {
    kind == .error && withBytes { $0.starts(with: "NOSCRIPT".utf8) }
  }
}
