import APNs
@testable import CommandSupport
import FCM
import PushCore
import ServiceTools
import Testing
@testable import carillon

/// Formats of the external input that Carillon reads.
enum InputFormat: String, CaseIterable, CustomTestStringConvertible {
  case job, payload, event, receipt, expression, predicate, cron, definition
  case csv, ndjson, foreignCSV = "CSV of another system", segmentLines = "segment file", eventLines = "NDJSON of events"
  case requestBody = "request body", configuration, times = "time and duration"
  case fcmJob = "job for FCM", fcmMessage = "message of FCM", twoServiceJob = "job for both services"
  case fcmAnswer = "answer of FCM", serviceAccount = "service account"

  var testDescription: String { rawValue }

  /// Reads an input; whether it is accepted does not matter.
  func read(_ bytes: [UInt8]) {
    let services = PushServices(standard: APNsService())
    let vocabulary = DeviceVocabulary(services: services, apps: ["news"], now: 1_800_000_000_000)
    func text() -> String { String(decoding: bytes, as: UTF8.self) }
    func rows(_ format: DeviceRowReader.Format, from system: ForeignSystem? = nil) {
      var reader = DeviceRowReader(format: format, vocabulary, from: system)
      // Files are also read in pieces.
      for start in stride(from: 0, to: bytes.count, by: 65_536) {
        _ = try? reader.read(bytes[start..<min(start + 65_536, bytes.count)])
      }
      _ = try? reader.finish()
    }
    switch self {
    case .job:
      _ = try? CampaignJob.examine(bytes, .any([APNsService()]))
      _ = try? APNsTools().lint(bytes, resolved: nil, as: nil, app: nil, apps: .any([APNsService()]), now: nil)
    case .payload:
      _ = try? APNsTools().lint(bytes, resolved: nil, as: nil, app: nil, apps: .any([APNsService()]), now: nil)
    case .fcmJob:
      _ = try? CampaignJob.examine(bytes, .any([FCMService()]))
      _ = try? FCMTools().lint(bytes, resolved: nil, as: nil, app: nil, apps: .any([FCMService()]), now: nil)
    case .fcmMessage:
      _ = try? FCMTools().lint(bytes, resolved: nil, as: nil, app: nil, apps: .any([FCMService()]), now: nil)
    case .twoServiceJob: _ = try? CampaignJob.examine(bytes, .any([APNsService(), FCMService()]))
    case .fcmAnswer: bytes.withUnsafeBytes { _ = FCMService().reply(status: 400, body: $0, retryAfter: 0) }
    case .serviceAccount: _ = try? ServiceAccount(json: bytes)
    case .event: _ = try? RegistrationEvent(parsing: bytes, vocabulary)
    case .receipt: _ = try? ReceiptEvent(parsing: bytes, now: vocabulary.now)
    case .expression: _ = try? AudienceExpression(parsing: text())
    case .predicate: _ = try? DevicePredicate(parsing: text())
    case .cron: _ = try? CronSchedule(parsing: text())
    case .definition: _ = SegmentDefinition(bytes)
    case .csv: rows(.csv)
    case .ndjson: rows(.ndjson)
    case .foreignCSV: for system in ForeignSystem.allCases { rows(.csv, from: system) }
    case .segmentLines:
      for (number, line) in text().split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        _ = SegmentLine(String(line), number: number + 1)
      }
    case .eventLines:
      for line in bytes.split(separator: 0x0A) {
        _ = try? RegistrationEvent(parsing: Array(line), vocabulary)
      }
    case .requestBody:
      guard let fields = try? RequestFields(bytes, known: ["id", "users", "reason"]) else { return }
      _ = try? fields.users("users", limit: 1000)
      _ = try? fields.string("id")
    case .configuration:
      guard let root = try? ConfigurationNode.parse(yaml: text(), file: "carillon.yaml") else { return }
      _ = try? ConfigurationReader(directory: "").read(root)
    case .times:
      _ = Timestamp.milliseconds(text())
      _ = DurationText.milliseconds(text())
    }
  }
}
