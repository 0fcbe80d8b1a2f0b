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

  /// Returns whether the slices of a part are expanded in reverse order: `true` for every second leg.
  ///
  /// Expanding a slice of one leg also expands the slices of all other legs in the same partition. With opposite
  /// orders, two workers that begin with different legs don't expand the same partition at the same time.
  public func isReversed(_ part: CampaignPart) -> Bool {
    legs.firstIndex { $0.service == part.service }.map { !$0.isMultiple(of: 2) } ?? false
  }

  /// Ids of the parts that are expanded together with this part: all legs of its stage, including this one. Empty if
  /// the part is expanded alone.
  public var expandedTogether: [String] {
    guard let part, part.companion == nil, legs.count > 1 else { return [] }
    return legs(ofStage: index(of: part.stage)).map { CampaignID(whole: whole, part: $0).description }
  }

  /// Name of the push service that gets ``message``; empty if the campaign has no leg.
  public var service: String { part?.service ?? leg ?? legs.first?.service ?? "" }

  /// Push types of all companions.
  public var companions: [String] { legs.flatMap(\.companions) }
}
