import PushCore

/// The texts of a job from which the store computes digests. The store keeps a digest under the job's id, to detect
/// another job with the same id.
struct JobForms {
  /// The canonical text of the job, without the fields that have their default value.
  var meaning: [UInt8]
  /// The canonical text of the job, with all fields that the producer wrote. Earlier versions of Carillon computed the
  /// digest from this text. Empty if both texts are equal.
  var written: [UInt8]

  /// Empty texts, for a job without an id.
  static let none = JobForms(meaning: [], written: [])

  /// Total size of both texts, in bytes.
  var count: Int { meaning.count + written.count }
}

extension Queue {
  /// Returns both texts of a job.
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
