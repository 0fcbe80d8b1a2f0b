import PushCore
import Redis

/// An acceptance in the place of another outcome: rare, and in a script of its own.
extension SliceLedger {
  /// Puts acceptances of a batch where other outcomes stand.
  ///
  /// Should it not get that far, the outcomes stay as they are, as if the acceptances had never come.
  ///
  /// - Parameters:
  ///   - indexes: what `commit.lua` left alone of the batch, each an acceptance in it.
  ///   - batch: as it was committed.
  ///   - seal: of the commit.
  func overrule(_ indexes: [UInt32], with batch: OutcomeBatch, under seal: [UInt8]) async throws {
    let wanted = Set(indexes)
    var targets = TargetReader(self)
    var line = ResultLine(service: service)
    var pipeline = RedisPipeline()
    var arguments: [(index: UInt32, record: [UInt8], token: String, line: [UInt8])] = []
    for entry in batch.entries where wanted.contains(entry.index) && entry.record.state == .terminal(.accepted) {
      guard let token = try await targets.target(Int(entry.index))?.token else { continue }
      // An erased target has no token, and so no result line.
      let text = DeviceToken(bytes: token).map(service.text) ?? ""
      let keepsLine = entry.tokenLength > 0 && !text.isEmpty
      var record: [UInt8] = []
      entry.record.write(to: &record)
      if keepsLine { line.set(entry.record, unknownReason: []) }
      arguments.append((entry.index, record, text, keepsLine ? line.text : []))
    }
    guard !arguments.isEmpty else { return }
    let keys = [commitKeys[0], commitKeys[1], commitKeys[3], commitKeys[4]]
    pipeline.script(StoreScripts.overrule, keys: keys) {
      $0.append(seal)
      for argument in arguments {
        $0.append(argument.index)
        $0.append(argument.record)
        $0.append(argument.token)
        $0.append(argument.line)
      }
    }
    _ = try await store.run(pipeline)
  }
}
