import CampaignStore
import CommandSupport
import PushCore

/// The report of a campaign's audience. For a list of users or tokens, it has only the length.
struct AudienceReport: JSONReport {
  private let campaign: Campaign

  init(_ campaign: Campaign) {
    self.campaign = campaign
  }

  /// Creates the report of a stored campaign; `nil` if this program can't read its job.
  init?(of record: CampaignRecord, job: [UInt8]) {
    guard let campaign = try? record.campaign(job, record.apps(in: .known)) else { return nil }
    self.init(campaign)
  }

  /// The category of the campaign, an app's own name.
  var category: String? { campaign.recipients.category }
  /// Whether the campaign ignores the app's suppression lists.
  var isTransactional: Bool { campaign.recipients.isTransactional }

  /// The text of the pushes before placeholders are replaced; `nil` for a payload without an alert.
  var message: String? {
    func member(_ name: String, of value: JSONValue?) -> JSONValue? {
      guard case .object(let members)? = value?.kind else { return nil }
      return members.first { $0.name == name }?.value
    }
    let root = try? JSONValue(parsing: campaign.message.payload, maximumDepth: CampaignJob.maximumNesting)
    let alert = member("alert", of: member("aps", of: root))
    if case .string(let text)? = alert?.kind { return text }
    let lines = ["title", "subtitle", "body"].compactMap { name -> String? in
      guard case .string(let text)? = member(name, of: alert)?.kind else { return nil }
      return text
    }
    return lines.isEmpty ? nil : lines.joined(separator: " / ")
  }

  /// Writes the members of the job's `audience`, with lengths instead of lists.
  func writeMembers(to json: inout JSONWriter) {
    switch campaign.recipients.audience {
    case .segment(let expression): json.member("segment", expression.description)
    case .users(let users): json.member("users", users.count)
    case .campaign(let earlier): write(earlier, to: &json)
    case .activity(let name): json.member("activity", name)
    case .tokens(let tokens): json.member("tokens", tokens.count)
    case .channel(let id): json.member("channel", id)
    }
    if !campaign.recipients.definitions.isEmpty {
      json.name("definitions")
      campaign.recipients.definitions.write(to: &json)
    }
    if let predicate = campaign.recipients.predicate { json.member("where", predicate.description) }
    if let sample = campaign.recipients.sample { json.member("sample", sample.share) }
    if let limit = campaign.recipients.limit { json.member("limit", limit) }
    if let stages = campaign.delivery.stages {
      json.objects("stages", stages.all) { json, stage in
        switch stage.members {
        case .users(let users): json.member("users", users.count)
        case .share(let share): json.member("share", share)
        }
        json.member("wait", stage.wait)
        if stage.approval { json.member("approval", true) }
        if let share = stage.maximumFailures { json.member("maxFailures", share) }
        if let share = stage.minimumOpened { json.member("minOpened", share) }
      }
    }
    if let control = campaign.recipients.control { json.member("control", control.share) }
    if campaign.recipients.devices != .all { json.member("devices", campaign.recipients.devices.rawValue) }
    if !campaign.recipients.exclusion.isEmpty {
      json.object("exclude") { json in
        if let segment = campaign.recipients.exclusion.segment { json.member("segment", segment.description) }
        if let first = campaign.recipients.exclusion.campaigns.first {
          json.name("campaign")
          json.beginArray()
          for earlier in campaign.recipients.exclusion.campaigns { json.value(earlier.campaign) }
          json.endArray()
          write(first.outcomes, first.opened, to: &json)
        }
        if let activity = campaign.recipients.exclusion.activity { json.member("activity", activity) }
      }
    }
  }

  private func write(_ earlier: EarlierAudience, to json: inout JSONWriter) {
    json.member("campaign", earlier.campaign)
    write(earlier.outcomes, earlier.opened, to: &json)
  }

  private func write(_ outcomes: [Outcome], _ opened: Bool?, to json: inout JSONWriter) {
    json.name("outcome")
    json.beginArray()
    for outcome in outcomes { json.value(outcome.name) }
    json.endArray()
    if let opened { json.member("opened", opened) }
  }

  /// The audience as text for people.
  var text: String {
    var text =
      switch campaign.recipients.audience {
      case .segment(let expression): expression.description
      case .users(let users): users.count == 1 ? "1 user" : "\(users.count.grouped) users"
      case .campaign(let earlier): Self.text(of: earlier)
      case .activity(let name): "all users with the activity \(name)"
      case .tokens(let tokens): tokens.count == 1 ? "1 token" : "\(tokens.count.grouped) tokens"
      case .channel(let id): "channel \(id)"
      }
    if let predicate = campaign.recipients.predicate { text += ", where \(predicate)" }
    if let sample = campaign.recipients.sample { text += ", a sample of \(sample.share)" }
    if let limit = campaign.recipients.limit { text += ", at most \(limit.grouped) users, the most recently seen" }
    if let stages = campaign.delivery.stages { text += ", in stages: \(stages)" }
    if let variants = campaign.message.variants { text += ", variants \(variants)" }
    if let control = campaign.recipients.control { text += ", without a control group of \(control.share)" }
    if campaign.recipients.devices == .latest { text += ", only the latest device of each user" }
    if let segment = campaign.recipients.exclusion.segment { text += ", without \(segment)" }
    for earlier in campaign.recipients.exclusion.campaigns { text += ", without \(Self.text(of: earlier))" }
    for (name, definition) in campaign.recipients.definitions.all.sorted(by: { $0.key < $1.key }) {
      text += ", \(name) defined as \(definition)"
    }
    if let activity = campaign.recipients.exclusion.activity { text += ", without users with the activity \(activity)" }
    if let category = campaign.recipients.category { text += ", category \(category)" }
    if campaign.recipients.isTransactional { text += ", transactional" }
    return text
  }

  private static func text(of earlier: EarlierAudience) -> String {
    "\(earlier.outcomes.map(\.name).joined(separator: " or ")) of campaign \(earlier.campaign)"
      + (earlier.opened.map { $0 ? ", opened" : ", not opened" } ?? "")
  }
}
