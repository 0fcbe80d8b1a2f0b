import PushCore

/// The forms of a job from which the store computes the digest that it stores under the job's id.
struct JobForms {
  /// The canonical text of the job, without fields that have their default value.
  var meaning: [UInt8]
  /// The canonical text of the job, with all fields that the producer wrote. Earlier versions computed the digest from
  /// this form. Empty if both forms are equal.
  var written: [UInt8]

  /// Empty forms, for a job without an id.
  static let none = JobForms(meaning: [], written: [])

  /// Size of both forms in a command, in bytes.
  var count: Int { meaning.count + written.count }
}

extension Queue {
  /// Returns the forms of a job.
  ///
  /// - Throws: an error if the job is not valid JSON.
  func forms(of job: [UInt8]) async throws(JSONSyntaxError) -> JobForms {
    let services = services
    return try await LargeJobThread.read(job.count) {
      Result { () throws(JSONSyntaxError) in
        let meaning = try CampaignJob.meaning(of: job) { services.services(ofApp: $0) }
        let written = try CampaignJob.canonical(job)
        return JobForms(meaning: meaning, written: written == meaning ? [] : written)
      }
    }.get()
  }
}
