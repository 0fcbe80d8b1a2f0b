import APNs
import FCM
import PushCore
import TestSupport

/// Reads the examples of the guide as Carillon reads jobs, events and files.
enum GuideReader {
  /// A time before all times of the examples: 2026-11-20T00:00:00Z, in ms since 1970.
  static let now = 1_795_132_800_000

  private static let apns = APNsService(AppTraits(topic: "com.example.news"))
  private static let fcm = FCMService(project: "example-project")

  /// Names that the devices and events of the examples may contain.
  private static var vocabulary: DeviceVocabulary {
    DeviceVocabulary(
      services: PushServices(standard: apns, others: [fcm], apps: ["android": [fcm]]),
      apps: ["news", "shop", "android"], now: now)
  }

  /// Returns the apps of the examples, each with its push services. The app `news` has FCM only in jobs that mention it
  /// or have `services`: the other jobs show only APNs.
  private static func apps(for job: [UInt8]) throws -> JobApps {
    var news: [any PushService] = [apns]
    let root = try JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting)
    let mentions = String(decoding: job, as: UTF8.self).contains(#""fcm":"#)
    if case .object(let members) = root.kind, mentions || members.contains(where: { $0.name == "services" }) {
      news.append(fcm)
    }
    return .known(["news": news, "shop": news, "android": [fcm]])
  }

  /// The members of a job to which a fragment is added.
  private static let least: [(name: String, json: String)] = [
    ("id", #""c1""#), ("app", #""news""#), ("audience", #"{"segment":"*"}"#), ("message", #"{"body":"Hi"}"#),
  ]

  /// Returns a job that has the members of `fragment` in place of those of a minimal job.
  ///
  /// - Parameter fragment: a JSON object, or the members of one without braces.
  static func job(with fragment: String) throws -> [UInt8] {
    let text = fragment.drop { $0.isWhitespace }.first == "{" ? fragment : "{\(fragment)}"
    let bytes = Array(text.utf8)
    let root = try JSONValue(parsing: bytes, maximumDepth: CampaignJob.maximumNesting)
    guard case .object(let members) = root.kind else { throw TestSupportError("not an object: \(fragment)") }
    let given = Set(members.map(\.name))
    var json = JSONWriter()
    json.beginObject()
    for member in least
    where !given.contains(member.name)
      && (member.name != "message" || given.isDisjoint(with: ["template", "apns", "fcm"]))
    {
      json.name(member.name)
      json.raw(member.json.utf8)
    }
    for member in members {
      json.name(member.name)
      json.raw(bytes[member.value.range])
    }
    json.endObject()
    return json.take()
  }

  /// Reads a job. Every template that it names has the same content.
  ///
  /// - Returns: the errors and warnings of the push rules.
  /// - Throws: the first other error.
  static func findings(inJob job: [UInt8]) throws -> [Finding] {
    var templates: [TemplateReference: JobTemplate] = [:]
    for reference in try CampaignJob.templates(of: job) {
      templates[reference] = JobTemplate(
        name: reference.name, version: reference.version ?? 1,
        content: Array(#"{"message":{"body":"T"}}"#.utf8))
    }
    let resolved = try CampaignJob.resolve(job, templates)
    return try CampaignJob.examine(resolved, apps(for: resolved), now: now / 1000).findings
  }

  /// Reads a registration event.
  static func read(event: String) throws {
    _ = try RegistrationEvent(parsing: Array(event.utf8), vocabulary)
  }

  /// Reads a file of devices.
  static func read(devices: String, as format: DeviceRowReader.Format) throws {
    var reader = DeviceRowReader(format: format, vocabulary)
    for row in try reader.read(Array(devices.utf8)) + reader.finish() {
      if let refusal = try row.get().refusal { throw TestSupportError(refusal) }
    }
  }
}
