import CampaignStore
import CommandSupport
import PushCore

/// Whom a campaign goes to, as commands show it: lists by their lengths.
struct AudienceReport: JSONReport {
  private let campaign: Campaign

  init(_ campaign: Campaign) {
    self.campaign = campaign
  }

  /// The same of a campaign that the store has; `nil` where nobody here can read its job.
  init?(of record: CampaignRecord, job: [UInt8]) {
    guard let service = PushServices.known[record.service], let campaign = try? CampaignJob.parse(job, .any(service))
    else { return nil }
    self.init(campaign)
  }

  /// The members of the job's `audience`; of lists their lengths.
  func write(to json: inout JSONWriter) {
    json.beginObject()
    switch campaign.audience {
    case .segment(let expression): json.member("segment", expression.description)
    case .users(let users): json.member("users", users.count)
    case .tokens(let tokens): json.member("tokens", tokens.count)
    case .channel(let id): json.member("channel", id)
    }
    if let predicate = campaign.predicate { json.member("where", predicate.description) }
    if let sample = campaign.sample { json.member("sample", sample.share) }
    if campaign.devices != .all { json.member("devices", campaign.devices.rawValue) }
    json.endObject()
  }

  /// The same for people.
  var text: String {
    var text =
      switch campaign.audience {
      case .segment(let expression): expression.description
      case .users(let users): users.count == 1 ? "1 user" : "\(users.count.grouped) users"
      case .tokens(let tokens): tokens.count == 1 ? "1 token" : "\(tokens.count.grouped) tokens"
      case .channel(let id): "channel \(id)"
      }
    if let predicate = campaign.predicate { text += ", where \(predicate)" }
    if let sample = campaign.sample { text += ", a sample of \(sample.share)" }
    if campaign.devices == .latest { text += ", the latest device of each" }
    return text
  }
}
