/// What a job says of itself, though it may be wrong otherwise.
public struct JobOutline: Sendable, Equatable {
  /// Its id.
  public var id: String
  /// The app that it names; `nil` when it names none.
  public var app: String?
  /// The lane that it asks for; `nil` when there is no such lane.
  public var lane: Lane?

  /// Memberwise.
  public init(id: String, app: String? = nil, lane: Lane? = nil) {
    self.id = id
    self.app = app
    self.lane = lane
  }

  /// - Returns: `nil` when the job gives no id that could be one.
  public init?(_ job: [UInt8]) {
    guard job.count <= CampaignJob.maximumSize,
      let root = try? JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting),
      case .object(let members) = root.kind, case .string(let id)? = members.value("id")?.kind, PlainName.isValid(id)
    else { return nil }
    self.id = id
    if case .string(let app)? = members.value("app")?.kind { self.app = app }
    switch members.value("lane")?.kind {
    case nil: lane = .normal
    case .string(let name)?: lane = Lane(rawValue: name)
    default: lane = nil
    }
  }
}
