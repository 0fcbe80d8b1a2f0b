public import PushCore
import Redis

/// Templates: content that many jobs share, by name and version. A version never changes; a correction makes a new
/// version.
extension Campaigns {
  /// Maximum number of versions of a template.
  static let maximumVersions = 10_000

  /// Stores a new version of a template. If the newest version has the same content, nothing changes.
  ///
  /// - Parameters:
  ///   - content: the content in the form of ``PushCore/JobTemplate/content(_:)``.
  ///   - name: a name that `PlainName` allows.
  /// - Returns: the number of the version.
  public func put(_ content: [UInt8], asTemplate name: String) async throws -> Int {
    var pipeline = RedisPipeline(reserving: content.count + 256)
    pipeline.script(StoreScripts.putTemplate, keys: [keys.template(name), keys.templates]) {
      $0.append(name)
      $0.append(content)
      $0.append(Self.maximumVersions)
    }
    let version = try await run(pipeline)[0].integer ?? 0
    guard version > 0 else {
      throw StoreError(
        .refused, "template \(name) already has \(Self.maximumVersions) versions, the maximum",
        hint: "use another name for the next template")
    }
    return version
  }

  /// Returns a version of a template; `nil` if it does not exist.
  public func template(_ reference: TemplateReference) async throws -> JobTemplate? {
    var version = reference.version
    var pipeline = RedisPipeline()
    if version == nil {
      pipeline.append("HGET", keys.template(reference.name), "latest")
      version = try await run(pipeline)[0].integer
      pipeline.removeAll()
    }
    guard let version else { return nil }
    pipeline.append("HGET", keys.template(reference.name), version)
    guard let content = try await run(pipeline)[0].bytes else { return nil }
    return JobTemplate(name: reference.name, version: version, content: Array(content))
  }

  /// Returns the names of all templates, and the newest version of each.
  public func templates() async throws -> [(name: String, version: Int)] {
    var pipeline = RedisPipeline()
    pipeline.append("SMEMBERS", keys.templates)
    let names = try await run(pipeline)[0].compactMap(\.string).sorted()
    guard !names.isEmpty else { return [] }
    pipeline.removeAll()
    for name in names { pipeline.append("HGET", keys.template(name), "latest") }
    // A template that can't be read does not hide the others. `store check` reports it.
    return zip(names, try await runEach(pipeline)).compactMap { name, version in
      (try? version.get()).map { (name, $0.integer ?? 0) }
    }
  }

  /// Removes a template with all its versions. Campaigns that were taken in have a copy of the content.
  ///
  /// - Returns: whether the template existed.
  public func removeTemplate(_ name: String) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("SREM", keys.templates, name)
    pipeline.append("UNLINK", keys.template(name))
    return try await run(pipeline).contains { $0.integer == 1 }
  }

  /// Returns a job with the content and the versions of the templates that it names. Later changes of a template don't
  /// affect the returned job.
  ///
  /// - Throws: ``StoreError`` `invalid` if a template does not exist.
  public func resolve(_ job: [UInt8]) async throws -> [UInt8] {
    do {
      let references = try CampaignJob.templates(of: job)
      guard !references.isEmpty else { return job }
      return try CampaignJob.resolve(job, try await templates(references))
    } catch let error as JobError {
      throw StoreError(.invalid, error.reason, hint: error.hint ?? "")
    }
  }

  /// Returns the templates that a job names.
  ///
  /// - Throws: ``StoreError`` `invalid` if a template does not exist.
  public func templates(_ references: [TemplateReference]) async throws -> [TemplateReference: JobTemplate] {
    var templates: [TemplateReference: JobTemplate] = [:]
    for reference in references { templates[reference] = try await known(reference) }
    return templates
  }

  private func known(_ reference: TemplateReference) async throws -> JobTemplate {
    if let template = try await template(reference) { return template }
    let names = try await templates().map(\.name)
    throw StoreError(
      .invalid, "template: there is no template \(Excerpt.quoted(reference.description))",
      hint: names.contains(reference.name)
        ? "see carillon template list for the versions"
        : Nearest.match(reference.name, among: names).map { "did you mean \($0)?" }
          ?? "store it first: carillon template put \(reference.name) FILE")
  }
}
