public import PushCore
import Redis

/// Content that many jobs have, by name and version. A version never changes: who corrects a template makes another.
extension Campaigns {
  /// The most versions of a template.
  static let mostVersions = 10_000

  /// Keeps another version of a template; the same content again changes nothing.
  ///
  /// - Parameters:
  ///   - content: as ``PushCore/JobTemplate/content(_:)`` gives it.
  ///   - name: allowed by `PlainName`.
  /// - Returns: its number.
  public func put(_ content: [UInt8], asTemplate name: String) async throws -> Int {
    var pipeline = RedisPipeline(reserving: content.count + 256)
    pipeline.script(StoreScripts.putTemplate, keys: [keys.template(name), keys.templates]) {
      $0.append(name)
      $0.append(content)
      $0.append(Self.mostVersions)
    }
    let version = try await run(pipeline)[0].integer ?? 0
    guard version > 0 else {
      throw StoreError(
        .refused, "template \(name) has \(Self.mostVersions) versions, and can't have more",
        hint: "give the next one another name")
    }
    return version
  }

  /// A version of a template; `nil` when there is none.
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

  /// The names of all templates, and the number of the newest version of each.
  public func templates() async throws -> [(name: String, version: Int)] {
    var pipeline = RedisPipeline()
    pipeline.append("SMEMBERS", keys.templates)
    let names = try await run(pipeline)[0].compactMap(\.string).sorted()
    guard !names.isEmpty else { return [] }
    pipeline.removeAll()
    for name in names { pipeline.append("HGET", keys.template(name), "latest") }
    // One that can't be read hides no other: `store check` names it.
    return zip(names, try await runEach(pipeline)).compactMap { name, version in
      (try? version.get()).map { (name, $0.integer ?? 0) }
    }
  }

  /// Removes a template with all its versions. Campaigns that were taken in have what they need of it.
  ///
  /// - Returns: whether there was one.
  public func removeTemplate(_ name: String) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.append("SREM", keys.templates, name)
    pipeline.append("UNLINK", keys.template(name))
    return try await run(pipeline).contains { $0.integer == 1 }
  }

  /// A job with the content of the templates that it names, if it names any, and their versions with it: what becomes of a
  /// template afterwards does not touch it.
  ///
  /// - Throws: ``StoreError`` `invalid` when there is no such template.
  public func resolve(_ job: [UInt8]) async throws -> [UInt8] {
    do {
      let references = try CampaignJob.templates(of: job)
      guard !references.isEmpty else { return job }
      return try CampaignJob.resolve(job, try await templates(references))
    } catch let error as JobError {
      throw StoreError(.invalid, error.reason, hint: error.hint ?? "")
    }
  }

  /// The templates that a job names.
  ///
  /// - Throws: ``StoreError`` `invalid` when there is no such template.
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
        ? "carillon template list tells which versions there are"
        : Nearest.match(reference.name, among: names).map { "did you mean \($0)?" }
          ?? "put it there first: carillon template put \(reference.name) FILE")
  }
}
