public import PushCore
import Redis

/// Selects the users that a campaign may reach, and selects devices of these users.
///
/// One filter can serve several legs of a campaign. It then decides about each user once, with the devices of all legs,
/// and assigns each device to its leg.
public struct DeviceFilter: Sendable {
  /// The conditions that a device of one leg meets.
  struct Leg: Sendable {
    let service: [UInt8]
    let kind: UInt8
    let environment: [UInt8]
  }

  private var legs: LegList<Leg>
  /// Personal content of each leg; `nil` if all pushes of the leg have the same content. The content is not in ``Leg``,
  /// because the filter reads a ``Leg`` for each device.
  private(set) var contents: LegList<PersonalContent?>
  let app: [UInt8]
  private let predicate: DevicePredicate?
  private let sample: UserSample?
  /// Assignment of users to stages, and the place of the selected stage (`nil` for all stages); `nil` without stages.
  private let stages: (draw: StageDraw, place: Int?)?
  /// Token of the only device that is selected; empty for all devices.
  private let token: [UInt8]
  private let devices: DeviceChoice
  /// The control group: its users get no push but are counted.
  private let control: ControlGroup?
  /// Variants of the content.
  private let variants: CampaignVariants?
  /// Place of the variant that all users get; `nil` if each user is assigned one.
  private let variant: Int?
  /// Live Activity of the selected tokens; empty if the activity doesn't matter.
  private let activity: [UInt8]
  /// Start of the campaign, from which ages in the condition are counted, in ms since the epoch.
  let start: Int
  /// Id of the campaign whose job has values for single users; `nil` for none.
  private let valuesOf: String?
  /// Send time of each device; `nil` if all may be sent immediately.
  let timing: TargetTiming?

  /// Creates a filter.
  ///
  /// - Parameters:
  ///   - service: the name of the campaign's push service. Devices of other services are left out.
  ///   - kind: the purpose of the campaign's tokens. Tokens of other kinds are left out.
  ///   - app: the campaign's app. Devices of other apps are left out; devices without an app are included.
  ///   - environment: the app's environment. Devices of other environments are left out; devices without one are
  ///     included.
  ///   - predicate: a condition. Devices that don't match are left out.
  ///   - sample: users who are not in the sample are left out.
  ///   - stages: the assignment of users to stages, and the place of one stage. Users of all other stages are left out.
  ///     Neither the sample nor the control group removes a user whom a stage lists.
  ///   - token: the only device to select; devices with another token are left out. `nil` if the token doesn't matter.
  ///   - devices: which of the remaining devices of a user are selected.
  ///   - control: the control group. Its users get no push but are counted.
  ///   - variants: the variants of the content.
  ///   - variant: the place of the variant that all users get; `nil` if each user is assigned one.
  ///   - activity: a Live Activity. Tokens without an activity, or of another activity, are left out; `nil` if the
  ///     activity doesn't matter.
  ///   - start: the start of the campaign, in ms since the epoch: the same for all its slices.
  ///   - content: the personal content of the pushes.
  ///   - valuesOf: the id of the campaign whose job has values for single users; `nil` for none.
  ///   - timing: the send time of each device.
  public init(
    service: String, kind: TokenKind, app: String, environment: String, predicate: DevicePredicate? = nil,
    sample: UserSample? = nil, stages: (draw: StageDraw, place: Int?)? = nil, token: DeviceToken? = nil,
    devices: DeviceChoice = .all, control: ControlGroup? = nil,
    variants: CampaignVariants? = nil, variant: Int? = nil, activity: String? = nil, start: Int = 0,
    content: PersonalContent? = nil, valuesOf: String? = nil, timing: CampaignTiming = CampaignTiming()
  ) {
    legs = LegList(Leg(service: Array(service.utf8), kind: kind.code, environment: Array(environment.utf8)))
    contents = LegList(content?.needsTarget == true ? content : nil)
    self.valuesOf = valuesOf
    self.app = Array(app.utf8)
    self.predicate = predicate
    self.sample = sample
    self.stages = stages
    self.token = token?.bytes ?? []
    self.devices = devices
    self.control = control?.isEmpty == false ? control : nil
    self.variants = variants
    self.variant = variant
    self.activity = Array((activity ?? "").utf8)
    self.start = start
    self.timing = timing.isPerDevice ? TargetTiming(timing, start: start) : nil
  }

  /// Creates the filter of a campaign.
  ///
  /// - Parameters:
  ///   - campaign: the campaign.
  ///   - service: the push service of its app.
  ///   - environment: the environment of its app.
  ///   - start: the start of the campaign, in ms since the epoch.
  ///   - control: the share of the app's users who are in its control group; `nil` for none.
  public init(
    _ campaign: Campaign, service: any PushService, environment: String, start: Int, control: Double? = nil
  ) {
    self.init(
      service: service.name, kind: service.tokenKind(for: campaign), app: campaign.app, environment: environment,
      predicate: campaign.recipients.predicate, sample: campaign.recipients.sample,
      stages: campaign.delivery.stages.map { ($0.draw, campaign.part.map { campaign.index(of: $0.stage) }) },
      token: campaign.recipients.token, devices: campaign.recipients.devices,
      control: ControlGroup(of: campaign, app: control),
      variants: campaign.message.variants,
      variant: campaign.message.variant, activity: campaign.activity, start: start, content: campaign.message.content,
      valuesOf: campaign.hasValues ? campaign.whole : nil, timing: campaign.delivery.timing)
  }

  /// Returns the filter of several legs of a campaign.
  ///
  /// - Parameters:
  ///   - first: the filter of the first leg.
  ///   - others: the filters of the other legs, in their order. They differ from the first one only in their devices
  ///     and their content.
  public init(joining first: DeviceFilter, _ others: [DeviceFilter]) {
    self = first
    legs.append(contentsOf: others.flatMap(\.legs))
    contents.append(contentsOf: others.flatMap(\.contents))
  }

  private static let activityName = Array(DeviceRecord.activityName.utf8)

  /// Whether the content of a push depends on the values sealed with its target.
  public var isPersonal: Bool { contents.contains { $0 != nil } }

  /// User data that the filter needs to select users.
  var asksToChoose: UserReads { UserReads(attributes: asksForAttributes) }

  /// User data that the filter needs to build the targets of users.
  var asks: UserReads {
    UserReads(
      attributes: asksForAttributes || timing?.timing.attribute != nil
        || contents.contains { $0?.names.isEmpty == false },
      valuesOf: valuesOf)
  }

  /// Whether the condition of the filter tests attributes of users.
  private var asksForAttributes: Bool { predicate?.attributes.isEmpty == false }

  /// Returns the user's attributes that the condition tests.
  private func attributes(_ json: RedisReply?) -> PredicateAttributes {
    guard asksForAttributes, let predicate else { return PredicateAttributes([], of: []) }
    return PredicateAttributes(json?.bytes.map(Array.init) ?? [], of: predicate.attributes)
  }

  /// Calls `body` with the selected devices of a user, and with the position of each device's leg.
  ///
  /// - Parameters:
  ///   - record: the user's device records.
  ///   - json: the user's attributes, if they were read.
  func forEachTarget(
    of user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?,
    _ body: (DeviceView, Int) -> Void
  ) {
    guard isOfStage(user), isSampled(user) else { return }
    let attributes = attributes(json)
    var latest: (device: DeviceView, leg: Int)?
    for device in DeviceCursor(record) {
      guard let leg = leg(admitting: device, attributes) else { continue }
      if devices == .all {
        body(device, leg)
      } else if latest.map({ $0.device.seenAt < device.seenAt }) ?? true {
        latest = (device, leg)
      }
    }
    if let latest { body(latest.device, latest.leg) }
  }

  /// Returns whether a user is in the selected stage; true if all stages are selected.
  func isOfStage(_ user: UnsafeRawBufferPointer) -> Bool {
    guard let place = stages?.place else { return true }
    return stages?.draw.index(of: user) == place
  }

  private func isSampled(_ user: UnsafeRawBufferPointer) -> Bool {
    sample?.has(user) ?? true || stages?.draw.listing(user) != nil
  }

  /// Returns why a user of the stage gets no push. The caller has found that none of the user's devices is a target.
  ///
  /// The condition is not evaluated again: if a device passes every other check, it did not meet the condition.
  ///
  /// - Parameter record: the user's device records.
  func reason(for user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) -> ExclusionReason {
    guard isSampled(user) else { return .notSampled }
    var furthest = ExclusionReason.noDevice
    for device in DeviceCursor(record) {
      let isUsable = predicate != nil && TargetBuilder.canBeTarget(token: device.token, user: user)
      let reason = refusal(of: device) ?? (isUsable ? .notMatching : .unusable)
      if reason.rawValue > furthest.rawValue { furthest = reason }
    }
    return furthest
  }

  /// Returns whether a user is in a control group. Such a user still belongs to the campaign's audience.
  func isControl(_ user: UnsafeRawBufferPointer) -> Bool {
    guard let control, control.has(user) else { return false }
    return stages?.draw.listing(user) == nil
  }

  /// Returns the place of the variant that a user gets; 0 without variants.
  func variant(of user: UnsafeRawBufferPointer) -> Int { variant ?? variants?.index(of: user) ?? 0 }

  /// Returns the user's own send time, in seconds after midnight; `nil` if the user has none.
  ///
  /// - Parameter json: the user's attributes, if they were read.
  func timeOfDay(_ json: RedisReply?) -> Int? {
    guard let local = timing?.timing.localTime, local.attribute != nil else { return nil }
    return json?.bytes.flatMap { local.timeOfDay(of: Array($0)) }
  }

  /// Returns when a user was last seen, in ms since the epoch, on any of the selected devices; 0 for never, `nil` if no
  /// device is selected.
  func seenAt(of user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?) -> UInt64? {
    var seenAt: UInt64?
    forEachTarget(of: user, record, json) { device, _ in seenAt = max(seenAt ?? 0, device.seenAt) }
    return seenAt
  }

  /// Returns the position of the leg that sends to a device; `nil` if the device is left out.
  private func leg(admitting device: DeviceView, _ attributes: PredicateAttributes) -> Int? {
    guard let place = leg(of: device) else { return nil }
    return predicate?.matches(device, user: attributes, now: start) ?? true ? place : nil
  }

  private func leg(of device: DeviceView) -> Int? {
    if refusal(of: device, by: legs.firstLeg) == nil { return 0 }
    return (1..<legs.count).first { refusal(of: device, by: legs[$0]) == nil }
  }

  /// Returns the check that a device fails; `nil` if the device passes all checks of one leg. If the legs refuse the
  /// device for different reasons, the last of these reasons in the order of ``ExclusionReason`` is returned. The
  /// condition is not one of these checks.
  private func refusal(of device: DeviceView) -> ExclusionReason? {
    var furthest = ExclusionReason.excluded
    for leg in legs {
      guard let reason = refusal(of: device, by: leg) else { return nil }
      if reason.rawValue > furthest.rawValue { furthest = reason }
    }
    return furthest
  }

  private func refusal(of device: DeviceView, by leg: Leg) -> ExclusionReason? {
    guard token.isEmpty || device.token.elementsEqual(token) else { return .noDevice }
    guard device.name(.service).elementsEqual(leg.service) else { return .noDeviceOfService }
    let app = device.name(.app)
    guard app.isEmpty || app.elementsEqual(self.app) else { return .noDeviceOfApp }
    let environment = device.name(.environment)
    guard environment.isEmpty || environment.elementsEqual(leg.environment) else { return .otherEnvironment }
    guard device.kind == leg.kind else { return .noTokenOfKind }
    guard activity.isEmpty || device.attribute(Self.activityName).elementsEqual(activity) else {
      return .noTokenOfActivity
    }
    return device.isQuarantined ? .quarantined : nil
  }
}
