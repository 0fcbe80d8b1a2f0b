/// Field of a job. The parser, the JSON Schema and all functions that derive a job from another job use the same list
/// of fields (``all``). A job also has an object for each push service (``PushService/jobFields``).
public struct JobField: Sendable {
  /// Documents that contain the field, in addition to the job that a producer writes.
  struct Documents: OptionSet, Sendable {
    let rawValue: UInt8

    /// Job of a companion: a push of another type to the same users, at the same times, see ``Companion``.
    static let companion = Documents(rawValue: 1)
    /// Job for one device token, which is sent once and immediately, see
    /// ``CampaignJob/forSingleDevice(_:token:of:suffix:payload:for:)``.
    static let single = Documents(rawValue: 2)
    /// Job of a run of a recurring job, see ``CampaignJob/run(of:localTime:)``.
    static let run = Documents(rawValue: 4)
    /// Template: the content of pushes.
    static let template = Documents(rawValue: 8)
  }

  /// Name of the field in the job.
  public let name: String
  let documents: Documents
  /// JSON Schema of its value.
  let schema: String

  /// Whether its value may be an instant or a duration.
  var mayBeTime: Bool { schema.contains(JobSchema.duration) || schema.contains(JobSchema.instant) }

  private init(_ name: String, _ documents: Documents, _ schema: String) {
    self.name = name
    self.documents = documents
    self.schema = schema
  }

  /// All fields, except the objects of the services, in the order of the documentation.
  static let all: [JobField] = [
    JobField("id", [.companion, .single, .run], JobSchema.name),
    JobField("app", [.companion, .single, .run], JobSchema.text),
    JobField(
      "services", [.run],
      JobSchema.orNull(#"{"type":"array","minItems":1,"uniqueItems":true,"items":{"type":"string"}}"#)),
    JobField("audience", [.companion, .single, .run], JobSchema.audience),
    JobField("message", [.single, .run, .template], JobSchema.orNull(JobSchema.message)),
    JobField("urgency", [.single, .run], JobSchema.orNull(JobSchema.words(Urgency.allCases.map(\.rawValue)))),
    JobField(
      "expiration", [.companion, .single, .run],
      JobSchema.orNull(JobSchema.any(#"{"enum":[0,"0"]}"#, JobSchema.duration, JobSchema.instant))),
    JobField("collapseId", [.single, .run], JobSchema.orNull(JobSchema.collapseID)),
    JobField("lane", [.companion, .single, .run], JobSchema.orNull(JobSchema.words(Lane.allCases.map(\.rawValue)))),
    JobField("sendAt", [.companion], JobSchema.orNull(JobSchema.any(JobSchema.instant, JobSchema.wall))),
    JobField("rate", [.run], JobSchema.orNull(#"{"type":"number","exclusiveMinimum":0,"maximum":1000000}"#)),
    JobField("spread", [.run], JobSchema.orNull(JobSchema.duration)),
    JobField("finishBy", [.run], JobSchema.orNull(JobSchema.instant)),
    JobField(
      "results", [.companion, .single, .run], JobSchema.orNull(JobSchema.words(ResultsMode.allCases.map(\.rawValue)))),
    JobField("ambiguity", [.single, .run], JobSchema.orNull(JobSchema.words(Ambiguity.allCases.map(\.rawValue)))),
    JobField("ttl", [.companion, .single, .run], JobSchema.orNull(JobSchema.duration)),
    JobField("category", [.companion, .single, .run], JobSchema.orNull(JobSchema.name)),
    JobField("transactional", [.companion, .single, .run], JobSchema.orNull(JobSchema.flag)),
    JobField("control", [.companion, .run], JobSchema.orNull(JobSchema.realShare)),
    JobField("stages", [.run], JobSchema.orNull(JobSchema.list(JobSchema.stage, most: CampaignStages.maximum))),
    // The schema of a variant depends on the services, see `JobSchema`.
    JobField("variants", [.run], #"{"type":["array","null"]}"#),
    JobField("submittedBy", [.companion, .single, .run], JobSchema.orNull(JobSchema.someText)),
    JobField("localized", [.single, .run, .template], JobSchema.orNull(JobSchema.localized)),
    JobField("trim", [.single, .run, .template], JobSchema.orNull(JobSchema.someText)),
    JobField("uniqueKey", [.single, .run, .template], JobSchema.orNull(JobSchema.someText)),
    JobField("campaignKey", [.single, .run, .template], JobSchema.orNull(JobSchema.someText)),
    JobField("template", [.run], JobSchema.orNull(JobSchema.someText)),
    JobField("vars", [.run], JobSchema.orNull(JobSchema.flag)),
    JobField(
      "also", [.run], JobSchema.orNull(#"{"type":"array","uniqueItems":true,"items":{"type":"string"}}"#)),
    JobField(
      "localTime", [.companion, .run],
      JobSchema.orNull(
        JobSchema.any(
          JobSchema.flag, JobSchema.object(["attribute": JobSchema.someText], required: ["attribute"])))),
    JobField("defaultTimezone", [.companion, .run], JobSchema.orNull(JobSchema.someText)),
    JobField("late", [.companion, .run], JobSchema.orNull(JobSchema.anyDuration)),
    JobField("quietHours", [.companion, .run], JobSchema.orNull(JobSchema.quietHours)),
    JobField("maxDuration", [.companion, .run], JobSchema.orNull(JobSchema.duration)),
    JobField("repeat", [], JobSchema.orNull(JobSchema.repetition)),
  ]

  /// Returns the names of the fields of a document, in the order of ``all``.
  static func names(of document: Documents) -> [String] {
    all.filter { $0.documents.contains(document) }.map(\.name)
  }
}
