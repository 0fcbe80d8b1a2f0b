/// The submitter of a job.
extension CampaignJob {
  /// Returns the job with `submittedBy` set. A text that is not a job is returned unchanged.
  ///
  /// - Throws: an error if the job has another submitter.
  public static func submitted(_ job: [UInt8], by person: String) throws(JobError) -> [UInt8] {
    guard let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting), case .object(let members) = root.kind,
      let brace = job.firstIndex(of: UInt8(ascii: "{"))
    else { return job }
    if let known = members.value("submittedBy")?.kind {
      guard case .string(let name) = known, name == person else {
        throw JobError(
          field: "submittedBy", message: "the job names another submitter",
          hint: "remove it from the job, or omit --by")
      }
      return job
    }
    var json = JSONWriter()
    json.beginObject()
    json.member("submittedBy", person)
    let comma = members.isEmpty ? [] : [UInt8(ascii: ",")]
    json.endObject()
    return Array(job[..<brace]) + json.take().dropLast() + comma + job[(brace + 1)...]
  }
}
