import CommandSupport
import PushCore

/// One thing that doctor has looked at: how it is, and what to do where it is not as it should be.
struct DoctorFinding: Equatable, JSONReport {
  /// How grave it is. Raw values are names in JSON.
  enum Level: String, Comparable {
    /// As it should be.
    case well
    /// It works, and would be better otherwise; or it could not be looked at.
    case advice
    /// It does not work, or will not for long: somebody has to do something.
    case problem

    static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
    private var rank: Int { self == .well ? 0 : self == .advice ? 1 : 2 }
  }

  /// What it is about, in the order of the report. Raw values are names in JSON.
  enum Area: String, CaseIterable {
    case configuration, redis, keys, credential, network, machine, versions
  }

  var level: Level
  var area: Area
  /// Which one: an app, a server, a file; empty where there is one only.
  var subject: String
  /// What was seen.
  var text: String
  /// What to do; `nil` where all is well.
  var cure: String?

  static func well(_ area: Area, _ subject: String = "", _ text: String) -> DoctorFinding {
    DoctorFinding(level: .well, area: area, subject: subject, text: text, cure: nil)
  }

  static func advice(_ area: Area, _ subject: String = "", _ text: String, cure: String) -> DoctorFinding {
    DoctorFinding(level: .advice, area: area, subject: subject, text: text, cure: cure)
  }

  static func problem(_ area: Area, _ subject: String = "", _ text: String, cure: String) -> DoctorFinding {
    DoctorFinding(level: .problem, area: area, subject: subject, text: text, cure: cure)
  }

  /// What a failed look says.
  static func problem(_ area: Area, _ subject: String = "", _ error: any Error) -> DoctorFinding {
    let error = CommandError(error)
    return problem(area, subject, error.message, cure: error.hint ?? "see the message")
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("level", level.rawValue)
    json.member("area", area.rawValue)
    json.member("subject", subject)
    json.member("text", text)
    json.member("cure", cure)
  }
}

/// All of them.
struct DoctorReport: JSONReport {
  private(set) var findings: [DoctorFinding] = []

  mutating func add(_ findings: [DoctorFinding]) { self.findings += findings }

  /// Whether nothing has to be done.
  var isWell: Bool { !findings.contains { $0.level == .problem } }

  private func count(_ level: DoctorFinding.Level) -> Int { findings.count { $0.level == level } }

  /// In the order of their areas, and there as they were found.
  private var sorted: [DoctorFinding] {
    DoctorFinding.Area.allCases.flatMap { area in findings.filter { $0.area == area } }
  }

  /// For people: a line each, and what to do below it.
  var text: String {
    var lines: [String] = []
    for finding in sorted {
      let mark = finding.level == .well ? "ok " : finding.level == .advice ? "?  " : "!  "
      let subject = finding.subject.isEmpty ? "" : "\(finding.subject): "
      lines.append(Excerpt.harmless("\(mark) \(finding.area.rawValue)  \(subject)\(finding.text)"))
      if let cure = finding.cure { lines.append(Excerpt.harmless("      \(cure)")) }
    }
    let (problems, advice) = (count(.problem), count(.advice))
    lines.append(
      problems == 0 && advice == 0
        ? "all is well" : "\(problems) to mend, \(advice) to think about, \(count(.well)) well")
    return lines.joined(separator: "\n")
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("well", isWell)
    json.member("problems", count(.problem))
    json.member("advice", count(.advice))
    json.array("findings", sorted)
  }
}
