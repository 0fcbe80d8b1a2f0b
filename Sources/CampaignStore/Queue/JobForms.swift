import PushCore

/// The forms of a job from which the store makes the digest that an id stands for.
struct JobForms {
  /// The canonical text of the job without fields at their defaults.
  var meaning: [UInt8]
  /// The job with the defaults that it writes out: the digest of earlier versions is of this. Empty when it is the same.
  var written: [UInt8]

  /// No job.
  static let none = JobForms(meaning: [], written: [])

  /// Bytes that both forms take in a command.
  var count: Int { meaning.count + written.count }
}

extension Queue {
  /// The forms of a job.
  ///
  /// - Throws: when the job is not valid JSON.
  func forms(of job: [UInt8]) throws(JSONSyntaxError) -> JobForms {
    let meaning = try CampaignJob.meaning(of: job) { services.service(ofApp: $0) }
    let written = try CampaignJob.canonical(job)
    return JobForms(meaning: meaning, written: written == meaning ? [] : written)
  }
}
