import CampaignStore
import CommandSupport
import Foundation
import PushCore
import PushTransport
import ServiceTools

/// The pushes of a campaign to each device of a user, before or after they are sent. Headers and body are exactly those
/// of the worker. The preview selects the user's devices as the worker does. It does not check whether the user is in
/// the audience.
struct PushPreview {
  let campaign: Campaign
  let user: String
  /// Whether the content is final: workers have sealed the user's targets.
  let isFixed: Bool
  /// The user's variant; `nil` without variants, or if the user's variant is not known yet.
  let variant: String?
  /// Whether the user gets the winning variant, and the winner is not chosen yet. In this case, ``pushes`` is empty.
  let waits: Bool
  /// Whether the user has a device for the campaign.
  let hasDevices: Bool
  /// The pushes of all legs.
  let pushes: [DevicePush]

  /// The push to a device.
  struct DevicePush {
    /// The tools of the device's push service.
    let tools: any PushServiceTools
    let token: DeviceToken
    /// The push; `nil` if its payload would be too large. In this case, the device gets nothing.
    let push: PreparedPush?
  }

  /// Creates the preview of a job.
  init(
    job: [UInt8], user: String, in store: CampaignStore, _ configuration: CarillonConfiguration, _ apps: JobApps
  ) async throws {
    let now = Int(Date.now.timeIntervalSince1970)
    let resolved = try await store.campaigns.resolve(job)
    try Task.checkCancellation()
    let campaign = try CampaignJob.parse(resolved, apps, now: now)
    try await store.queue.check(campaign)
    try Task.checkCancellation()
    try await self.init(CampaignJob.legs(of: campaign, resolved, apps), nil, user, store, configuration)
  }

  /// Creates the preview of a campaign that a worker has activated.
  init(
    id: String, user: String, in store: CampaignStore, _ configuration: CarillonConfiguration, _ apps: JobApps
  ) async throws {
    guard let (record, job) = try await store.campaigns.findWithJob(id) else {
      throw try await CampaignLookup(store).absent(id)
    }
    let campaign = try record.campaign(job, apps)
    let legs = campaign.part == nil ? try CampaignJob.legs(of: campaign, job, apps) : [campaign]
    try await self.init(legs, record, user, store, configuration)
  }

  private init(
    _ legs: [Campaign], _ record: CampaignRecord?, _ user: String, _ store: CampaignStore,
    _ configuration: CarillonConfiguration
  ) async throws {
    var legs = legs
    let stages = legs[0].delivery.stages
    let stage = stages.map { stages in Array(user.utf8).withUnsafeBytes(stages.draw.index) }
    let isLater = stages?.winnerPlace.flatMap { place in stage.map { $0 > place } }
    // After the winner is chosen, all later stages get it.
    if let winner = record?.staging.winner, isLater == true {
      for index in legs.indices { legs[index].message.variant = winner }
    }
    let campaign = legs[0]
    let filter = try configuration.filter(of: legs, start: try await store.time() / 1000)
    let known = try await store.campaigns.targets(of: user, in: legs, filter: filter, isNew: record == nil)
    self.campaign = campaign
    self.user = user
    isFixed = known.allSatisfy(\.isSealed)
    let winner =
      record == nil || campaign.message.variants == nil
      ? nil : try await store.campaigns.decision(of: campaign.whole)?.winner
    let place = campaign.message.variants.flatMap { variants in
      isLater == true ? winner : Array(user.utf8).withUnsafeBytes(variants.index)
    }
    variant = place.flatMap { campaign.message.variants?.all[$0].name }
    waits = campaign.message.variants != nil && variant == nil
    hasDevices = known.contains { !$0.positions.isEmpty }
    let now = Int(Date.now.timeIntervalSince1970)
    var pushes: [DevicePush] = []
    for (leg, targets) in zip(legs, known) where !waits {
      try Task.checkCancellation()
      let settings = try configuration.settings(of: leg).service
      let service = settings.settings.service
      let expiration =
        record.map(\.delivery.expiration)
        ?? leg.message.expiration.instant(startingAt: now)
      let composer = service.composer(for: leg, expiration: expiration)
      pushes += targets.positions.compactMap { position in
        guard let token = DeviceToken(bytes: targets.chunk.token(position)) else { return nil }
        return DevicePush(
          tools: settings.tools, token: token,
          push: PreparedPush(to: token, values: targets.chunk.values(position), by: composer, of: service, now: now))
      }
    }
    self.pushes = pushes
  }

  /// The pushes as JSON, without headers that depend on the credential or the endpoint, so the caller does not need the
  /// credentials.
  var json: String {
    json { push, _, json in
      json.name("headers")
      json.beginObject()
      for header in push.headers { json.member(header.name, header.value) }
      json.endObject()
      json.name("payload")
      json.raw(push.shownBody)
    }
  }

  /// Returns the pushes as JSON, with additional members for each push.
  ///
  /// - Parameter write: adds members to the object of a device's push.
  func json(_ write: (PreparedPush, any PushServiceTools, inout JSONWriter) -> Void) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("campaign", campaign.id)
    json.member("user", user)
    json.member("fixed", isFixed)
    if campaign.message.variants != nil {
      json.member("variant", variant)
      json.member("waits", waits)
    }
    json.name("pushes")
    json.beginArray()
    for push in pushes {
      let service = push.tools.service
      json.beginObject()
      json.member("service", service.name)
      json.member("token", service.text(of: push.token))
      if let prepared = push.push {
        write(prepared, push.tools, &json)
        json.member("bytes", prepared.body.count)
      } else {
        json.member("refused", service.reasonName(of: .payloadTooLarge))
      }
      json.endObject()
    }
    json.endArray()
    json.endObject()
    return json.text
  }
}
