#if DEBUG
  import Foundation

  /// A defect that a debug build puts into a script, so that a test can verify that the test suite detects it.
  struct ScriptMutation {
    var script: String
    var find: String
    var replacement: String

    /// The defect that the environment variable `CARILLON_FAULT_SCRIPT` describes: `script|find|replacement`.
    static let ofProcess: ScriptMutation? = {
      guard let text = ProcessInfo.processInfo.environment["CARILLON_FAULT_SCRIPT"] else { return nil }
      let parts = text.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      precondition(parts.count == 3, "CARILLON_FAULT_SCRIPT is not script|find|replacement")
      return ScriptMutation(script: parts[0], find: parts[1], replacement: parts[2])
    }()

    /// Puts the defect into the source of a script. The function traps if the source does not contain `find`, because
    /// the test would otherwise pass without a defect.
    func apply(to source: inout String, named name: String) {
      guard name == script else { return }
      precondition(source.contains(find), "CARILLON_FAULT_SCRIPT: \(name).lua does not contain \(find)")
      source = source.replacingOccurrences(of: find, with: replacement)
    }
  }
#endif
