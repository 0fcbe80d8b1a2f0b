import PushCore
import Redis

/// Result lines of targets that ended because their campaign was cancelled. Such targets get no record, so no commit
/// writes their lines.
extension SliceLedger {
  /// Writes the result lines of a cancelled slice that no commit has written. Repeating the call is safe.
  ///
  /// With ``PushCore/ResultsMode/failures``, only targets that may have been delivered get a line. The other
  /// cancelled targets were not sent, and a large campaign may have millions of them. They get lines only with
  /// ``PushCore/ResultsMode/all``.
  ///
  /// - Parameters:
  ///   - counters: counters of the slice. The slice must be closed.
  ///   - results: which targets of the campaign get a result line.
  func keepCancelledResults(_ counters: SliceCounters, _ results: ResultsMode) async throws {
    let isKept = { (outcome: Outcome) in results == .all || results == .failures && outcome == .unknown }
    guard [.unknown, .cancelled].contains(where: { counters.outcomes[$0] ?? 0 > 0 && isKept($0) }),
      let record = try await store.campaigns.find(slice.campaign)
    else { return }
    let key = store.keys.results(slice.partition, slice.campaign)
    var line = ResultLine(service: service)
    try await store.results.forEachResult(of: [slice], record) { page in
      let lines = page.filter { $0.token != nil && $0.isDerived && $0.outcome.map(isKept) ?? false }
      guard !lines.isEmpty else { return true }
      var pipeline = RedisPipeline(reserving: lines.count * 160)
      pipeline.command("HSET") { arguments in
        arguments.append(key)
        for result in lines {
          guard let token = result.token else { continue }
          arguments.append(service.text(of: token))
          line.set(result.record, unknownReason: Array(result.reason.utf8))
          arguments.append(line.text)
        }
      }
      _ = try await store.run(pipeline)
      return true
    }
  }
}
