/// Leg of a campaign: its pushes to the devices of one push service.
public struct CampaignLeg: Sendable, Equatable {
  /// Name of the push service.
  public var service: String
  /// Push types of the companions that go to devices of this service.
  public var companions: [String]

  /// Creates an instance with these values.
  public init(service: String, companions: [String] = []) {
    self.service = service
    self.companions = companions
  }
}

extension Campaign {
  /// Returns the push types of the companions that go to devices of a service.
  func companions(of service: any PushService) -> [String] {
    legs.first { $0.service == service.name }?.companions ?? []
  }

  /// Returns whether the slices of a part are expanded in the reverse order. This is so for every second leg.
  ///
  /// One expansion serves all legs of a partition. With different orders, workers that begin with different legs expand
  /// different partitions.
  public func isReversed(_ part: CampaignPart) -> Bool {
    legs.firstIndex { $0.service == part.service }.map { !$0.isMultiple(of: 2) } ?? false
  }

  /// Returns the ids of the parts that share the expansion of a part: the legs of its stage. Empty if no other part
  /// shares it.
  public var expandedTogether: [String] {
    guard let part, part.companion == nil, legs.count > 1 else { return [] }
    return legs(ofStage: index(of: part.stage)).map { CampaignID(whole: whole, part: $0).description }
  }

  /// Name of the push service that gets ``message``; empty if the campaign has no leg.
  public var service: String { part?.service ?? leg ?? legs.first?.service ?? "" }

  /// Push types of all companions.
  public var companions: [String] { legs.flatMap(\.companions) }
}
