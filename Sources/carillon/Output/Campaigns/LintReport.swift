import CommandSupport
import PushCore
import ServiceTools

/// Output of `lint` for a file.
struct LintReport {
  /// Name of the file; empty for a request by HTTP.
  var file: String
  var lint: PushLint
  /// Reason why templates, segments and attributes of a job were not looked up; `nil` if no check was skipped.
  var unchecked: String?
  /// The next runs of a recurring job.
  var runs: NextRuns?

  /// One line for each finding, in the format of compilers, and a summary line.
  var text: String {
    var lines: [String] = []
    for finding in lint.findings {
      let place = finding.position.map { ":\($0.line):\($0.column)" } ?? ""
      lines.append("\(file)\(place): \(FindingText.line(finding))")
      lines.append("    \(finding.rule.id): \(finding.rule.source)")
    }
    if let unchecked {
      lines.append("\(file): not checked: templates, segments, earlier campaigns, attributes (\(unchecked))")
    }
    lines.append("\(file): \(summary)")
    lines += runs?.lines ?? []
    return lines.map(Excerpt.harmless).joined(separator: "\n")
  }

  private var summary: String {
    var parts = [lint.title]
    if !lint.services.isEmpty {
      parts[0] += " for " + lint.services.joined(separator: " and ")
      parts += lint.sizes.map { "\($0.name) \($0.bytes) of \($0.limit) bytes" }
    } else if let type = lint.pushType {
      parts[0] += " as \(type)" + (lint.isInferred ? " (by its keys; --type overrides it)" : "")
    }
    if lint.services.isEmpty, let own = lint.sizes.first(where: { $0.name == lint.pushType }) ?? lint.sizes.first {
      let others = Set(lint.sizes.map(\.limit)).subtracting([own.limit]).sorted()
      let also = others.map { "\($0) as " + names(limit: $0) }.joined()
      parts.append("\(own.bytes) of \(own.limit) bytes" + (also.isEmpty ? "" : " (\(also))"))
    }
    if let variants = lint.variants { parts.append("variants: \(variants)") }
    let errors = lint.findings(.error).count
    let warnings = lint.findings(.warning).count
    parts.append(
      errors + warnings == 0
        ? "no findings"
        : "\(errors) error\(errors == 1 ? "" : "s"), \(warnings) warning\(warnings == 1 ? "" : "s")")
    return parts.joined(separator: ", ")
  }

  private func names(limit: Int) -> String {
    let names = lint.sizes.filter { $0.limit == limit }.map(\.name)
    return names.count > 3 ? "any other type" : names.joined(separator: " and ")
  }

  var json: String {
    var json = JSONWriter()
    json.beginObject()
    if !file.isEmpty { json.member("file", file) }
    json.member("kind", lint.kind.rawValue)
    json.member("pushType", lint.pushType)
    json.member("inferred", lint.isInferred)
    json.name("sizes")
    json.beginArray()
    for size in lint.sizes {
      json.beginObject()
      json.member("for", size.name)
      json.member("bytes", size.bytes)
      json.member("limit", size.limit)
      json.member("fits", size.bytes <= size.limit)
      json.endObject()
    }
    json.endArray()
    if let variants = lint.variants {
      json.name("variants")
      VariantsReport.write(variants, to: &json)
    }
    json.member("errors", lint.findings(.error).count)
    json.member("warnings", lint.findings(.warning).count)
    json.name("findings")
    FindingText.write(lint.findings, to: &json)
    json.member("unchecked", unchecked)
    runs?.write(to: &json)
    json.endObject()
    return json.text
  }
}

/// Format of findings in the output of commands.
enum FindingText {
  /// Returns a line such as `error: aps.badge: must be a number, not a string (remove the quotes)`.
  static func line(_ finding: Finding) -> String {
    let hint = finding.hint.map { " (\($0))" } ?? ""
    return "\(finding.rule.severity.rawValue): \(place(finding))\(finding.message)\(hint)"
  }

  /// Returns the path that precedes a message.
  static func place(_ finding: Finding) -> String { finding.path.isEmpty ? "" : finding.path + ": " }

  /// Writes the findings as an array of objects.
  static func write(_ findings: [Finding], to json: inout JSONWriter) {
    json.beginArray()
    for finding in findings {
      json.beginObject()
      json.member("rule", finding.rule.id)
      json.member("severity", finding.rule.severity.rawValue)
      json.member("path", finding.path)
      json.member("line", finding.position?.line)
      json.member("column", finding.position?.column)
      json.member("message", finding.message)
      json.member("hint", finding.hint)
      json.member("source", finding.rule.source)
      json.endObject()
    }
    json.endArray()
  }
}

/// The list of all rules, for output.
enum RuleList {
  /// The rules of all push services, and the rule that needs the store (unknown attributes).
  private static let rules = KnownServices.all.tools.flatMap(\.rules) + [.unknownAttribute]

  static var text: String {
    rules.map { rule in
      "\(rule.id) (\(rule.severity.rawValue)): \(rule.summary)\n    \(rule.source)"
    }.joined(separator: "\n")
  }

  static var json: String {
    var json = JSONWriter()
    json.beginArray()
    for rule in rules {
      json.beginObject()
      json.member("rule", rule.id)
      json.member("severity", rule.severity.rawValue)
      json.member("summary", rule.summary)
      json.member("source", rule.source)
      json.endObject()
    }
    json.endArray()
    return json.text
  }
}
