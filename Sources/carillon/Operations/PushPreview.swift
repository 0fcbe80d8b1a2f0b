import CampaignStore
import CommandSupport
import Foundation
import PushCore
import PushTransport
import ServiceTools

/// The pushes of a campaign to each device of a user, before or after they are sent. Headers and body are exactly those
/// of the worker. The preview selects the user's devices as the worker does, and does not check that the user is in the
/// audience.
struct PushPreview {
  let campaign: Campaign
  /// The tools of the app's push service.
  let tools: any PushServiceTools
  let user: String
  /// Whether the content is final: the campaign has its targets.
  let isFixed: Bool
  /// The user's variant; `nil` if there are no variants, and while the variant is not known.
  let variant: String?
  /// Whether the user gets the winning variant and it is not chosen yet. There are then no pushes.
  let waits: Bool
  /// Whether the user has a device for the campaign.
  let hasDevices: Bool
  /// The pushes. A push is `nil` if its payload would be too large; that device gets nothing.
  let pushes: [(token: DeviceToken, push: PreparedPush?)]

  /// Creates the preview of a job.
  init(
    job: [UInt8], user: String, in store: CampaignStore, _ configuration: CarillonConfiguration, _ apps: JobApps
  ) async throws {
    let now = Int(Date.now.timeIntervalSince1970)
    let campaign = try await CampaignJob.parse(store.campaigns.resolve(job), apps, now: now)
    try await store.queue.check(campaign)
    try await self.init(campaign, nil, user, store, configuration)
  }

  /// Creates the preview of a campaign that a worker has activated.
  init(
    id: String, user: String, in store: CampaignStore, _ configuration: CarillonConfiguration, _ apps: JobApps
  ) async throws {
    guard let (record, job) = try await store.campaigns.findWithJob(id) else {
      throw try await CampaignLookup(store).absent(id)
    }
    try await self.init(record.campaign(job, apps), record, user, store, configuration)
  }

  private init(
    _ campaign: Campaign, _ record: CampaignRecord?, _ user: String, _ store: CampaignStore,
    _ configuration: CarillonConfiguration
  ) async throws {
    var campaign = campaign
    // A later stage has the winning variant, once it is chosen.
    if let winner = record?.staging.winner, let place = campaign.delivery.stages?.winnerPlace,
      campaign.delivery.stages.map({ stages in Array(user.utf8).withUnsafeBytes(stages.draw.place) > place }) == true
    {
      campaign.message.variant = winner
    }
    let filter = try await store.filter(of: campaign, configuration)
    let known = try await store.campaigns.targets(of: user, in: campaign, filter: filter, isNew: record == nil)
    guard let app = configuration.apps[campaign.app] else {
      throw CommandError(.defect, "no push service for app \(campaign.app)")
    }
    let service = app.service.settings.service
    let expiration =
      record.map(\.delivery.expiration)
      ?? campaign.message.expiration.instant(startingAt: Int(Date.now.timeIntervalSince1970))
    let composer = service.composer(for: campaign, expiration: expiration)
    self.campaign = campaign
    tools = app.service.tools
    self.user = user
    isFixed = known.isSealed
    let winner =
      record == nil || campaign.message.variants == nil
      ? nil : try await store.campaigns.decision(of: campaign.whole)?.winner
    let isLater = campaign.delivery.stages.flatMap { stages in
      stages.winnerPlace.map { Array(user.utf8).withUnsafeBytes(stages.draw.place) > $0 }
    }
    let place = campaign.message.variants.flatMap { variants in
      isLater == true ? winner : Array(user.utf8).withUnsafeBytes(variants.place)
    }
    variant = place.flatMap { campaign.message.variants?.all[$0].name }
    waits = campaign.message.variants != nil && variant == nil
    hasDevices = !known.positions.isEmpty
    pushes = (waits ? [] : known.positions).compactMap { position in
      guard let token = DeviceToken(bytes: known.chunk.token(position)) else { return nil }
      return (token, PreparedPush(to: token, values: known.chunk.values(position), by: composer, of: service))
    }
  }

  /// The pushes as JSON, without the headers of a provider token or an endpoint. So the caller does not need the
  /// credentials.
  var json: String {
    json { push, json in
      json.name("headers")
      json.beginObject()
      for header in push.headers { json.member(header.name, header.value) }
      json.endObject()
      json.name("payload")
      json.raw(push.shownBody)
    }
  }

  /// - Parameter write: adds members to the object of a device's push.
  func json(_ write: (PreparedPush, inout JSONWriter) -> Void) -> String {
    let service = tools.service
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
    for (token, push) in pushes {
      json.beginObject()
      json.member("token", service.text(of: token))
      if let push {
        write(push, &json)
        json.member("bytes", push.body.count)
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
