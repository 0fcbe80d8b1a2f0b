extension CampaignJob {
  /// Returns a job that finds devices which have removed an app. It sends silent pushes to all users, including those
  /// on suppression lists, because they do not see them.
  ///
  /// - Parameter rate: pushes per second.
  public static func sweep(id: String, app: String, rate: Double) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("id", id)
    json.member("app", app)
    json.object("audience") { $0.member("segment", "*") }
    json.object("payload") { json in
      json.object("aps") { $0.member("content-available", 1) }
    }
    json.member("pushType", "background")
    json.member("lane", Lane.bulk.rawValue)
    json.member("rate", rate)
    json.member("transactional", true)
    json.member("results", ResultsMode.none.rawValue)
    json.endObject()
    return json.take()
  }
}
