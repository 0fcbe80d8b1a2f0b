/// Basic facts about a job. All other fields of the job may be invalid.
public struct JobOutline: Sendable, Equatable {
  /// Id of the job.
  public var id: String
  /// Name of its app; `nil` if it has none.
  public var app: String?
  /// Lane of the job; `nil` if the job names an unknown lane.
  public var lane: Lane?

  /// Creates an instance with these values.
  public init(id: String, app: String? = nil, lane: Lane? = nil) {
    self.id = id
    self.app = app
    self.lane = lane
  }

  /// - Returns: `nil` if the job has no valid id.
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
