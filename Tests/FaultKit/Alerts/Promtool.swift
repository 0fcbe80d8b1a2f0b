import Foundation
import TestSupport

/// Evaluation of `deploy/monitoring` by Prometheus' own code: promtool (`deploy/install-checkers`).
enum Promtool {
  private static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    .standardized
  /// The rules.
  static let rules = package.appending(path: "deploy/monitoring/alerts.yaml")
  private static let dashboard = package.appending(path: "deploy/monitoring/dashboard.json")

  /// Skips the case if promtool is not installed.
  static func require() throws {
    guard PromtoolCommand.isPresent else {
      throw FaultSkipped("\(PromtoolCommand.path) is missing: deploy/install-checkers")
    }
  }

  /// A question: whether an expression has a result in a minute of the samples.
  struct Question {
    var expression: String
    var minute: Int
    var isExpected: Bool

    /// Returns the question whether an alert fires.
    static func fires(_ alert: String, at minute: Int, _ isExpected: Bool = true) -> Question {
      Question(
        expression: #"ALERTS{alertname="\#(alert)",alertstate="firing"}"#, minute: minute, isExpected: isExpected)
    }
  }

  /// - Returns: promtool's output for unexpected answers; `nil` if all answers are as expected.
  static func ask(_ questions: [Question], of samples: MetricsSamples, epoch: Int, in folder: URL) async throws
    -> String?
  {
    let tests = questions.map { question -> [String: Any] in
      [
        "expr": "(count(\(question.expression)) or vector(0)) > bool 0", "eval_time": "\(question.minute)m",
        "exp_samples": [["labels": "{}", "value": question.isExpected ? 1 : 0] as [String: Any]],
      ]
    }
    let file: [String: Any] = [
      "rule_files": [rules.path], "evaluation_interval": "1m",
      "tests": [
        ["interval": "1m", "input_series": samples.inputs(epoch: epoch), "promql_expr_test": tests] as [String: Any]
      ],
    ]
    // Any JSON is also valid YAML.
    let path = folder.appending(path: "samples.yaml")
    try JSONSerialization.data(withJSONObject: file, options: [.prettyPrinted, .withoutEscapingSlashes]).write(to: path)
    let output = try await ChildProcess.run(PromtoolCommand.path, ["test", "rules", path.path])
    return output.exit == .status(0) ? nil : output.standardOutput + output.standardError
  }

  /// Returns the names of all alerts.
  static func alerts() throws -> [String] {
    try String(contentsOf: rules, encoding: .utf8).split(separator: "\n").compactMap { line in
      line.firstRange(of: "- alert: ").map { String(line[$0.upperBound...]) }
    }
  }

  /// Returns the expressions of the dashboard, with values for Grafana's variables.
  static func panels() throws -> [String] {
    var found: [String] = []
    func look(_ value: Any) {
      if let object = value as? [String: Any] {
        if let expression = object["expr"] as? String { found.append(expression) }
        for (_, member) in object { look(member) }
      } else if let array = value as? [Any] {
        for member in array { look(member) }
      }
    }
    look(try JSONSerialization.jsonObject(with: Data(contentsOf: dashboard)))
    return found.map {
      $0.replacingOccurrences(of: "$__rate_interval", with: "5m").replacingOccurrences(of: "$app", with: ".*")
    }
  }
}
