import CommandSupport
import PushCore

/// The result of one check of `carillon doctor`, with a hint if there is a problem.
struct DoctorFinding: Equatable, JSONReport {
  /// The severity of a finding. The raw values are names in JSON.
  enum Level: String, Comparable {
    /// No problem.
    case healthy
    /// A possible improvement, or a check that could not run.
    case advice
    /// A present or imminent failure. An operator must act.
    case problem

    static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
    private var rank: Int { self == .healthy ? 0 : self == .advice ? 1 : 2 }
  }

  /// The subject areas, in the order of the report. The raw values are names in JSON.
  enum Area: String, CaseIterable {
    case configuration, redis, keys, credential, network, machine, versions
  }

  var level: Level
  var area: Area
  /// The app, server or file that was checked; empty if the area has only one.
  var subject: String
  /// The observation.
  var text: String
  /// The next step for the operator; `nil` for a healthy finding.
  var hint: String?

  static func healthy(_ area: Area, _ subject: String = "", _ text: String) -> DoctorFinding {
    DoctorFinding(level: .healthy, area: area, subject: subject, text: text, hint: nil)
  }

  static func advice(_ area: Area, _ subject: String = "", _ text: String, hint: String) -> DoctorFinding {
    DoctorFinding(level: .advice, area: area, subject: subject, text: text, hint: hint)
  }

  static func problem(_ area: Area, _ subject: String = "", _ text: String, hint: String) -> DoctorFinding {
    DoctorFinding(level: .problem, area: area, subject: subject, text: text, hint: hint)
  }

  /// Creates the finding for a check that failed with an error.
  static func problem(_ area: Area, _ subject: String = "", _ error: any Error) -> DoctorFinding {
    let error = CommandError(error)
    return problem(
      area, subject, error.message, hint: error.hint ?? "fix the cause in the message, then run carillon doctor again")
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("level", level.rawValue)
    json.member("area", area.rawValue)
    json.member("subject", subject)
    json.member("text", text)
    json.member("hint", hint)
  }
}

/// The report with all findings.
struct DoctorReport: JSONReport {
  private(set) var findings: [DoctorFinding] = []

  mutating func add(_ findings: [DoctorFinding]) { self.findings += findings }

  /// Whether no finding is a problem.
  var isHealthy: Bool { !findings.contains { $0.level == .problem } }

  private func count(_ level: DoctorFinding.Level) -> Int { findings.count { $0.level == level } }

  /// The findings in the order of their areas, and within an area in the order of the checks.
  private var sorted: [DoctorFinding] {
    DoctorFinding.Area.allCases.flatMap { area in findings.filter { $0.area == area } }
  }

  /// The report as text: a line for each finding, with its hint below.
  var text: String {
    var lines: [String] = []
    for finding in sorted {
      let mark = finding.level == .healthy ? "ok " : finding.level == .advice ? "?  " : "!  "
      let subject = finding.subject.isEmpty ? "" : "\(finding.subject): "
      lines.append(Excerpt.harmless("\(mark) \(finding.area.rawValue)  \(subject)\(finding.text)"))
      if let hint = finding.hint { lines.append(Excerpt.harmless("      \(hint)")) }
    }
    let (problems, advice) = (count(.problem), count(.advice))
    lines.append(
      problems == 0 && advice == 0
        ? "no problems found" : "\(problems) to fix, \(advice) to consider, \(count(.healthy)) ok")
    return lines.joined(separator: "\n")
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("healthy", isHealthy)
    json.member("problems", count(.problem))
    json.member("advice", count(.advice))
    json.array("findings", sorted)
  }
}
