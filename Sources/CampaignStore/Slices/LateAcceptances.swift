import PushCore
import Redis

/// Late acceptances: the answer "accepted" to a push whose target already has another terminal outcome in the ledger.
/// They are rare and have a separate script.
extension SliceLedger {
  /// Replaces terminal outcomes in the ledger by `accepted`, for targets with a late acceptance.
  ///
  /// If this fails, the recorded outcomes stay, as if the acceptances had never arrived.
  ///
  /// - Parameters:
  ///   - indexes: the targets with a late acceptance: the batch has `accepted` for them, and the ledger has another
  ///     terminal outcome.
  ///   - batch: the committed batch.
  ///   - seal: the seal of the commit.
  func acceptLate(_ indexes: [UInt32], with batch: OutcomeBatch, under seal: [UInt8]) async throws {
    let wanted = Set(indexes)
    var targets = TargetReader(self)
    var line = ResultLine(service: service)
    var pipeline = RedisPipeline()
    var arguments: [(index: UInt32, record: [UInt8], token: String, line: [UInt8])] = []
    for entry in batch.entries where wanted.contains(entry.index) && entry.record.state == .terminal(.accepted) {
      guard let token = try await targets.target(Int(entry.index))?.token else { continue }
      // An erased target has no token and therefore no result line.
      let text = DeviceToken(bytes: token).map(service.text) ?? ""
      let keepsLine = entry.tokenLength > 0 && !text.isEmpty
      var record: [UInt8] = []
      entry.record.write(to: &record)
      if keepsLine { line.set(entry.record, unknownReason: []) }
      arguments.append((entry.index, record, text, keepsLine ? line.text : []))
    }
    guard !arguments.isEmpty else { return }
    let keys = [
      commitKeys[0], commitKeys[1], commitKeys[3], commitKeys[4], commitKeys[13], commitKeys[11], commitKeys[6],
    ]
    pipeline.script(StoreScripts.acceptLate, keys: keys) {
      $0.append(seal)
      $0.append(rules.app)
      $0.append(rules.counting)
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
