/// Jobs that find uninstalled apps.
extension CampaignJob {
  /// Returns a job that finds devices from which users have removed the app. The job sends silent pushes to all users,
  /// including those on suppression lists, because users do not see such pushes.
  ///
  /// - Parameters:
  ///   - services: the services of the app.
  ///   - rate: pushes per second.
  public static func sweep(id: String, app: String, _ services: [any PushService], rate: Double) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("id", id)
    json.member("app", app)
    json.object("audience") { $0.member("segment", "*") }
    for service in services {
      json.name(service.name)
      json.raw(service.silentPush)
    }
    json.member("lane", Lane.bulk.rawValue)
    json.member("rate", rate)
    json.member("transactional", true)
    json.member("results", ResultsMode.none.rawValue)
    json.endObject()
    return json.take()
  }
}
