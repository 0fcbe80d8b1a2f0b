/// Reference of a job to a template in the store that contains the job's content: `NAME` for the newest version,
/// `NAME@3` for version 3.
public struct TemplateReference: Hashable, Sendable, CustomStringConvertible {
  /// Name, a valid `PlainName`.
  public let name: String
  /// Version, from 1; `nil` for the newest.
  public let version: Int?

  /// Description of a valid reference, for error messages.
  public static let form = "NAME, or NAME@3 for a version of it"

  /// - Returns: `nil` for a text that is not a reference.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first.map({ String($0) }), PlainName.isValid(name) else { return nil }
    self.name = name
    guard parts.count == 2 else {
      version = nil
      return
    }
    guard let version = Int(parts[1]), version > 0, "\(version)" == parts[1] else { return nil }
    self.version = version
  }

  public var description: String { name + (version.map { "@\($0)" } ?? "") }
}

/// Version of a template: `message` or objects of push services, and optionally `localized`, `trim`, `uniqueKey` and
/// `campaignKey`. A stored version never changes.
public struct JobTemplate: Equatable, Sendable {
  /// Name of the template.
  public let name: String
  /// Version, from 1.
  public let version: Int
  /// Content: a JSON object without white space.
  public let content: [UInt8]

  /// Creates an instance with these values.
  public init(name: String, version: Int, content: [UInt8]) {
    (self.name, self.version, self.content) = (name, version, content)
  }

  /// Maximum size of a template in bytes: the content of a push in some tens of languages.
  public static let maximumSize = 65_536
  static let fields = JobField.names(of: .template)

  /// Returns a template's content without white space.
  ///
  /// - Parameter services: the services of the program; a template may have an object for each.
  /// - Throws: an error if the content is invalid on its own.
  public static func content(_ text: [UInt8], for services: [any PushService]) throws(JobError) -> [UInt8] {
    guard text.count <= maximumSize else {
      throw JobError(
        field: "",
        message: "the template has \(text.count) bytes, \(text.count - maximumSize) over the limit of \(maximumSize)")
    }
    let root: JSONValue
    do {
      // A job that contains the template adds one level of nesting.
      root = try JSONValue(parsing: text, maximumDepth: CampaignJob.maximumNesting - 1)
    } catch {
      throw JobError(field: "", message: "not valid JSON: \(error)")
    }
    try CampaignJob.refuse(moved: CampaignJob.movedFields(of: root, .any(services)))
    let names = services.map(\.name)
    let fields = try JobFields(root, path: "", known: Self.fields + names, planned: [])
    var isEmpty = true
    for service in services {
      let source = try ContentSource(fields, for: service, known: Set(names))
      guard source.saysSomething else { continue }
      isEmpty = false
      var reader = PayloadReader(in: text, audience: nil)
      _ = try reader.forms(of: source)
    }
    guard !isEmpty else {
      throw JobError(field: "message", message: "is missing", hint: "add message, or the object of a push service")
    }
    return JSONValue.minified(text[...])
  }
}

extension CampaignJob {
  /// Returns the templates that a job and its variants name, each once; empty for a text that is not a job.
  ///
  /// - Throws: an error if a value can't be a reference to a template.
  public static func templates(of job: [UInt8]) throws(JobError) -> [TemplateReference] {
    guard job.count <= maximumSize, let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting),
      case .object(let members) = root.kind
    else { return [] }
    var references: [TemplateReference] = []
    for (path, value) in templates(in: members) {
      guard case .string(let text) = value.kind, let reference = TemplateReference(text) else {
        throw JobError(
          field: path, message: "is not a valid template reference", hint: "it must be \(TemplateReference.form)")
      }
      if !references.contains(reference) { references.append(reference) }
    }
    return references
  }

  /// Returns the fields of a job that refer to templates, with their paths.
  private static func templates(in job: [JSONValue.Member]) -> [(path: String, value: JSONValue)] {
    var found = job.value("template").map { [(path: "template", value: $0)] } ?? []
    guard case .array(let variants)? = job.value("variants")?.kind else { return found }
    for (index, variant) in variants.enumerated() {
      guard case .object(let members) = variant.kind, let value = members.value("template") else { continue }
      found.append((path: "variants[\(index)].template", value: value))
    }
    return found
  }

  /// Returns a job in which the content of templates replaces the references to them.
  ///
  /// - Parameter templates: the templates by their references in the job.
  /// - Throws: an error if the result is too large.
  public static func resolve(_ job: [UInt8], _ templates: [TemplateReference: JobTemplate]) throws(JobError) -> [UInt8]
  {
    guard let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting), case .object(let members) = root.kind
    else { return job }
    var json = JSONWriter()
    json.beginObject()
    for member in members {
      json.name(member.name)
      switch (member.name, member.value.kind) {
      case ("template", _): write(member.value, of: job, templates, to: &json)
      case ("variants", .array(let variants)):
        json.beginArray()
        for variant in variants { write(variant: variant, of: job, templates, to: &json) }
        json.endArray()
      default: json.raw(job[member.value.range])
      }
    }
    json.endObject()
    let resolved = json.take()
    guard resolved.count <= maximumSize else {
      throw JobError(
        field: "template",
        message: "makes the job \(resolved.count) bytes long, \(resolved.count - maximumSize) over the limit",
        hint: "put the audience into a segment: carillon segment import NAME FILE")
    }
    return resolved
  }

  private static func write(
    variant: JSONValue, of job: [UInt8], _ templates: [TemplateReference: JobTemplate], to json: inout JSONWriter
  ) {
    guard case .object(let members) = variant.kind, members.value("template") != nil else {
      return json.raw(job[variant.range])
    }
    json.beginObject()
    for member in members {
      json.name(member.name)
      if member.name == "template" {
        write(member.value, of: job, templates, to: &json)
      } else {
        json.raw(job[member.value.range])
      }
    }
    json.endObject()
  }

  /// Writes the content of a template if the value refers to a known template; otherwise writes the value unchanged.
  private static func write(
    _ name: JSONValue, of job: [UInt8], _ templates: [TemplateReference: JobTemplate], to json: inout JSONWriter
  ) {
    guard case .string(let text) = name.kind, let reference = TemplateReference(text),
      let template = templates[reference],
      let content = try? JSONValue(parsing: template.content, maximumDepth: maximumNesting),
      case .object(let fields) = content.kind
    else { return json.raw(job[name.range]) }
    json.beginObject()
    json.member("name", template.name)
    json.member("version", template.version)
    for field in fields {
      json.name(field.name)
      json.raw(template.content[field.value.range])
    }
    json.endObject()
  }

  /// Returns the fields with the content of a job or variant: its own fields, or the fields of the template that it
  /// names. If the job or variant also has an object for the service, this object is merged over that of the template
  /// (JSON merge patch, RFC 7396).
  static func content(of fields: JobFields, for service: any PushService) throws(JobError) -> JobFields {
    guard let template = fields.value("template") else { return fields }
    for name in JobTemplate.fields where fields.value(name) != nil {
      throw fields.error(name, "can't be combined with template", hint: "remove one of them")
    }
    guard case .object(let members) = template.kind else {
      throw fields.error(
        "template", "was not checked: templates are kept in the store",
        hint: "lint, preview and submit check the template if they have a configuration and can reach Redis")
    }
    // The fields were checked when the template was stored. A template may have objects of services that the app does
    // not use.
    let content = JobFields(members, path: fields.path("template"))
    guard let own = fields.value(service.name) else { return content }
    return content.replacing(service.name, by: MergePatch.apply(own, to: content.value(service.name)))
  }
}
