public import PushCore
import Redis

/// Which users, and which of their devices, a campaign may reach.
public struct DeviceFilter: Sendable {
  let service: [UInt8]
  let kind: UInt8
  let app: [UInt8]
  let environment: [UInt8]
  private let predicate: DevicePredicate?
  private let sample: UserSample?
  /// Which stage users are in, and which of the stages is meant; all are meant where there is no place.
  private let stages: (draw: StageDraw, place: Int?)?
  private let devices: DeviceChoice
  /// Users who get nothing, and are counted.
  private let control: ControlGroup?
  /// What different users are told.
  private let variants: CampaignVariants?
  /// The place of the variant that all users get; `nil` where each draws one.
  private let variant: Int?
  /// The Live Activity whose tokens are meant; empty where it does not matter.
  private let activity: [UInt8]
  /// From when ages are counted, in ms since the epoch.
  let start: Int
  /// What the pushes say that are not all the same; `nil` when they are.
  let content: PersonalContent?
  /// The campaign whose job says something of its users; `nil` for none.
  private let valuesOf: String?
  /// When each device gets it; `nil` for all of them at once.
  let timing: TargetTiming?

  /// - Parameters:
  ///   - service: the name of the campaign's push service; devices of any other are left out.
  ///   - kind: what the campaign's tokens are for; those for anything else are left out.
  ///   - app: devices of another app are left out; those that name none are in.
  ///   - environment: likewise.
  ///   - predicate: devices for which it doesn't hold are left out.
  ///   - sample: users who are not in it are left out.
  ///   - stages: users of another stage than the one of the place are left out; no draw leaves out whom a stage lists.
  ///   - devices: how many of those that are left each user gets it on.
  ///   - control: users who get nothing, and are counted.
  ///   - variants: what different users are told.
  ///   - variant: the place of the variant that all users get; `nil` where each draws one.
  ///   - activity: tokens of another Live Activity, and those that are of none, are left out; `nil` where it does not
  ///     matter.
  ///   - start: when the campaign began, in ms since the epoch: the same for all its slices.
  ///   - content: what the pushes say that are not all the same.
  ///   - valuesOf: the campaign whose job says something of its users; `nil` for none.
  ///   - timing: when each device gets it.
  public init(
    service: String, kind: TokenKind, app: String, environment: String, predicate: DevicePredicate? = nil,
    sample: UserSample? = nil, stages: (draw: StageDraw, place: Int?)? = nil, devices: DeviceChoice = .all,
    control: ControlGroup? = nil,
    variants: CampaignVariants? = nil, variant: Int? = nil, activity: String? = nil, start: Int = 0,
    content: PersonalContent? = nil, valuesOf: String? = nil, timing: CampaignTiming = CampaignTiming()
  ) {
    self.content = content?.needsTarget == true ? content : nil
    self.valuesOf = valuesOf
    self.service = Array(service.utf8)
    self.kind = kind.code
    self.app = Array(app.utf8)
    self.environment = Array(environment.utf8)
    self.predicate = predicate
    self.sample = sample
    self.stages = stages
    self.devices = devices
    self.control = control?.isEmpty == false ? control : nil
    self.variants = variants
    self.variant = variant
    self.activity = Array((activity ?? "").utf8)
    self.start = start
    self.timing = timing.isPerDevice ? TargetTiming(timing, start: start) : nil
  }

  /// What a campaign asks of devices.
  ///
  /// - Parameters:
  ///   - campaign: the campaign.
  ///   - service: its app's.
  ///   - environment: likewise.
  ///   - start: when it began, in ms since the epoch.
  ///   - control: the share of the app's users who are in its control group; `nil` for none.
  public init(
    _ campaign: Campaign, service: any PushService, environment: String, start: Int, control: Double? = nil
  ) {
    self.init(
      service: service.name, kind: service.tokenKind(for: campaign), app: campaign.app, environment: environment,
      predicate: campaign.recipients.predicate, sample: campaign.recipients.sample,
      stages: campaign.delivery.stages.map { ($0.draw, campaign.part.map { campaign.place(of: $0.stage) }) },
      devices: campaign.recipients.devices, control: ControlGroup(of: campaign, app: control),
      variants: campaign.message.variants,
      variant: campaign.message.variant, activity: campaign.activity, start: start, content: campaign.message.content,
      valuesOf: campaign.hasValues ? campaign.whole : nil, timing: campaign.delivery.timing)
  }

  private static let activityName = Array(DeviceRecord.activityName.utf8)

  /// Whether pushes differ by what is sealed with their targets.
  public var isPersonal: Bool { content != nil }

  /// What it asks for of users to choose among them.
  var asksToChoose: UserReads { UserReads(attributes: asksForAttributes) }

  /// What it asks for of users to know all of their targets.
  var asks: UserReads {
    UserReads(
      attributes: asksForAttributes || timing?.timing.attribute != nil || content?.names.isEmpty == false,
      valuesOf: valuesOf)
  }

  /// Whether its condition asks for attributes of users.
  private var asksForAttributes: Bool { predicate?.attributes.isEmpty == false }

  /// What it asks of a user's attributes.
  private func attributes(_ json: RedisReply?) -> PredicateAttributes {
    guard asksForAttributes, let predicate else { return PredicateAttributes([], of: []) }
    return PredicateAttributes(json?.bytes.map(Array.init) ?? [], of: predicate.attributes)
  }

  /// Calls `body` with the devices of a user that the campaign goes to.
  ///
  /// - Parameters:
  ///   - record: the user's device records.
  ///   - json: the user's attributes, where they were asked for.
  func forEachTarget(
    of user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?,
    _ body: (DeviceView) -> Void
  ) {
    guard isOfStage(user), isSampled(user) else { return }
    let attributes = attributes(json)
    var latest: DeviceView?
    for device in DeviceCursor(record) where admits(device, attributes) {
      if devices == .all {
        body(device)
      } else if latest.map({ $0.seenAt < device.seenAt }) ?? true {
        latest = device
      }
    }
    if let latest { body(latest) }
  }

  /// Whether a user is in the stage that the campaign is; true where it is none.
  func isOfStage(_ user: UnsafeRawBufferPointer) -> Bool {
    guard let place = stages?.place else { return true }
    return stages?.draw.place(of: user) == place
  }

  private func isSampled(_ user: UnsafeRawBufferPointer) -> Bool {
    sample?.has(user) ?? true || stages?.draw.listing(user) != nil
  }

  /// Returns why a user of the stage gets nothing. None of the user's devices is a target.
  ///
  /// It does not evaluate the condition again: a device that passes every other check failed it.
  ///
  /// - Parameter record: the user's device records.
  func reason(for user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) -> LeftOut {
    guard isSampled(user) else { return .notSampled }
    var furthest = LeftOut.noDevice
    for device in DeviceCursor(record) {
      let isUsable = predicate != nil && TargetBuilder.canBeTarget(token: device.token, user: user)
      let reason = refusal(of: device) ?? (isUsable ? .notMatching : .unusable)
      if reason.rawValue > furthest.rawValue { furthest = reason }
    }
    return furthest
  }

  /// Whether a user is in a control group: the campaign means them all the same, if they have a device for it.
  func isControl(_ user: UnsafeRawBufferPointer) -> Bool {
    guard let control, control.has(user) else { return false }
    return stages?.draw.listing(user) == nil
  }

  /// The place of the variant that a user gets; 0 where all are told the same.
  func variant(of user: UnsafeRawBufferPointer) -> Int { variant ?? variants?.place(of: user) ?? 0 }

  /// The hour at which a user gets it, in seconds after midnight; `nil` for one who has none of their own.
  ///
  /// - Parameter json: the user's attributes, where they were asked for.
  func timeOfDay(_ json: RedisReply?) -> Int? {
    guard let local = timing?.timing.localTime, local.attribute != nil else { return nil }
    return json?.bytes.flatMap { local.timeOfDay(of: Array($0)) }
  }

  /// When a user was seen last, in ms since the epoch, on any of the devices that the campaign goes to; 0 for never, `nil`
  /// where there is none.
  func seenAt(of user: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ json: RedisReply?) -> UInt64? {
    var seenAt: UInt64?
    forEachTarget(of: user, record, json) { seenAt = max(seenAt ?? 0, $0.seenAt) }
    return seenAt
  }

  private func admits(_ device: DeviceView, _ attributes: PredicateAttributes) -> Bool {
    guard refusal(of: device) == nil else { return false }
    return predicate?.holds(of: device, user: attributes, now: start) ?? true
  }

  /// Returns the first check that a device fails, in the order of ``LeftOut``; the condition is not among them.
  private func refusal(of device: DeviceView) -> LeftOut? {
    guard device.name(.service).elementsEqual(service) else { return .noDeviceOfService }
    let app = device.name(.app)
    guard app.isEmpty || app.elementsEqual(self.app) else { return .noDeviceOfApp }
    let environment = device.name(.environment)
    guard environment.isEmpty || environment.elementsEqual(self.environment) else { return .otherEnvironment }
    guard device.kind == kind else { return .noTokenOfKind }
    guard activity.isEmpty || device.attribute(Self.activityName).elementsEqual(activity) else {
      return .noTokenOfActivity
    }
    return device.isQuarantined ? .quarantined : nil
  }
}
