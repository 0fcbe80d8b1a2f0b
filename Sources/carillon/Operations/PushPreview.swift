import CampaignStore
import CommandSupport
import Foundation
import PushCore
import PushTransport
import ServiceTools

/// What a campaign sends, or would send, to each device of a user: headers and body of the worker, byte for byte. Whether
/// the user is in the audience is not looked at, which of the user's devices are meant is.
struct PushPreview {
  let campaign: Campaign
  /// The tools of the app's push service.
  let tools: any PushServiceTools
  let user: String
  /// Whether it is fixed already: the campaign knows its targets.
  let isFixed: Bool
  /// The user's variant; `nil` where all are told the same, and while it is not known.
  let variant: String?
  /// Whether the user waits for the best variant, which nobody has said yet: then there are no pushes.
  let waits: Bool
  /// Whether there is a device for it.
  let hasDevices: Bool
  /// `nil` for a device whose payload would be too large: nothing is sent to it.
  let pushes: [(token: DeviceToken, push: PreparedPush?)]

  /// Of a job.
  init(
    job: [UInt8], user: String, in store: CampaignStore, _ configuration: CarillonConfiguration, _ apps: JobApps
  ) async throws {
    let now = Int(Date.now.timeIntervalSince1970)
    let campaign = try await CampaignJob.parse(store.campaigns.resolve(job), apps, now: now)
    try await store.queue.check(campaign)
    try await self.init(campaign, nil, user, store, configuration)
  }

  /// Of a campaign that a worker has taken in.
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
    // The variant of a later stage, once it is chosen.
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

  /// Without what a provider token or an endpoint would add: whoever shows it need not have the credentials.
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

  /// - Parameter write: what there is to say of a device's push, as members of its object.
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
