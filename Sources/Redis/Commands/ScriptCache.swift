/// State of the server's script cache as one connection knows it: the SHA-1 of each script that the connection has
/// loaded, as the server reported it. Pure.
struct ScriptCache {
  /// Pipeline that repeats the calls that failed with NOSCRIPT.
  struct Repetition {
    var pipeline: RedisPipeline
    /// Position of each repeated call in ``pipeline``, and the position of the failed call whose answer it replaces.
    var answers: [(new: Int, old: Int)]
  }

  private var hashes: [ObjectIdentifier: [UInt8]] = [:]

  /// Returns the scripts of a pipeline that were never loaded on this connection, each once.
  func missing(in pipeline: RedisPipeline) -> [RedisScript] {
    var seen: Set<ObjectIdentifier> = []
    return pipeline.scriptCalls.lazy.map(\.script).filter { [hashes] script in
      let id = ObjectIdentifier(script)
      return hashes[id] == nil && seen.insert(id).inserted
    }
  }

  /// Returns the commands that load the scripts.
  static func loading(_ scripts: [RedisScript], into version: RedisVersion?) -> RedisPipeline {
    var pipeline = RedisPipeline()
    for script in scripts { pipeline.append("SCRIPT", "LOAD", script.source(for: version)) }
    return pipeline
  }

  /// Records the answers to ``loading(_:into:)``.
  mutating func record(_ replies: [RedisReply], for scripts: [RedisScript], endpoint: String) throws(RedisError) {
    for (script, reply) in zip(scripts, replies) {
      guard let hash = reply.bytes, reply.kind == .bulk, hash.count == RedisPipeline.hashLength else {
        let answer = reply.error ?? RedisServerError(line: "unexpected answer \(reply)")
        throw Handshake.refusal(answer, step: "loading the script \(script.name)", endpoint: endpoint)
      }
      hashes[ObjectIdentifier(script)] = Array(hash)
    }
  }

  /// Returns the pipeline with the known SHA-1 of each script.
  func filled(_ pipeline: RedisPipeline) -> RedisPipeline {
    var filled = pipeline
    for call in pipeline.scriptCalls {
      if let hash = hashes[ObjectIdentifier(call.script)] { filled.fill(call, with: hash) }
    }
    return filled
  }

  /// Returns a pipeline for scripts that the server lost by a flush or a restart. It loads these scripts and repeats
  /// the calls that failed with NOSCRIPT, in their order and in one round trip. A call that failed with NOSCRIPT has
  /// had no effect, so nothing runs twice.
  ///
  /// - Returns: `nil` if no call failed with NOSCRIPT.
  static func repetition(
    of pipeline: RedisPipeline, after replies: [RedisReply], into version: RedisVersion?
  ) -> Repetition? {
    let lost = pipeline.scriptCalls.filter { replies[$0.position].isNoScript }
    guard !lost.isEmpty else { return nil }
    var seen: Set<ObjectIdentifier> = []
    var again = loading(lost.map(\.script).filter { seen.insert(ObjectIdentifier($0)).inserted }, into: version)
    var answers: [(new: Int, old: Int)] = []
    for call in lost {
      // Repeat `ASKING`, because it applies only to the next command, which was refused.
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
