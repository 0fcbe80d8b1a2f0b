public import PushCore
import Redis

/// Checks of a job that need the store.
extension Queue {
  /// Refuses a campaign with stages if its end comes before its last stage can begin.
  func checkStages(of campaign: Campaign) async throws {
    guard campaign.delivery.stages != nil else { return }
    let start = max(try await store.time() / 1000, campaign.delivery.sendAt ?? 0) / 1000
    if let problem = campaign.problemOfStages(start: start) {
      throw StoreError(invalid: problem)
    }
  }

  /// Refuses a campaign with an error that only the store can detect. Examples are a missing segment, a missing earlier
  /// campaign, and a start time that is too far in the future.
  ///
  /// - Returns: the definitions of segments on which its audience depends.
  @discardableResult
  public func check(_ campaign: Campaign) async throws -> SegmentDefinitions {
    var definitions = SegmentDefinitions()
    if case .segment(let expression) = campaign.recipients.audience {
      definitions = try await checkSegments(of: expression)
    }
    if let activity = campaign.activity { try await store.registry.checkActivity(activity) }
    if let expression = campaign.recipients.exclusion.segment {
      let excluded = try await checkSegments(of: expression, field: "audience.exclude.segment")
      definitions = definitions.or(excluded)
    }
    for id in campaign.earlier {
      if let problem = try await store.audiences.problem(ofEarlier: id) { throw problem }
    }
    if campaign.delivery.sendAt != nil || campaign.delivery.timing.repetition != nil {
      let now = try await store.time() / 1000
      if let problem = campaign.problemOfSchedule(now: now) { throw StoreError(invalid: problem) }
      _ = try firstRun(of: campaign, now: now)
    }
    return definitions
  }

  /// Refuses an expression that names a segment which was never imported or defined. A misspelled `!churnd` would
  /// otherwise match all users.
  ///
  /// - Returns: the definitions of segments on which the expression depends.
  @discardableResult
  public func checkSegments(
    of expression: AudienceExpression, field: String = "audience.segment"
  ) async throws -> SegmentDefinitions {
    let names = expression.segmentNames
    guard !names.isEmpty else { return SegmentDefinitions() }
    let (known, definitions) = try await store.audiences.namesAndDefinitions()
    let reached: SegmentDefinitions
    do {
      reached = try definitions.reached(from: [expression])
    } catch {
      throw StoreError(.invalid, "\(field): \(error)", hint: "check `carillon segment list`, and change the definition")
    }
    let all = reached.all.values.reduce(into: names) { $0.formUnion($1.expression.segmentNames) }
    for name in all.sorted() where !known.contains(name) && reached[name] == nil {
      let user = reached.users(of: name).first
      throw StoreError(
        .invalid,
        "\(field): there is no segment \(Excerpt.quoted(name))"
          + (names.contains(name) ? "" : user.map { ", which the definition of \($0) uses" } ?? ""),
        hint: Nearest.match(name, among: known + definitions.all.keys).map { "did you mean \($0)?" }
          ?? "import it first: carillon segment import \(name) FILE")
    }
    return reached
  }
}
