#if DEBUG
  import Foundation

  /// A script that tests break on purpose, to see that the break is noticed. Only a debug build has it.
  struct ScriptMutation {
    var script: String
    var find: String
    var replacement: String

    /// The one that `CARILLON_FAULT_SCRIPT` asks for: `script|find|replacement`.
    static let ofProcess: ScriptMutation? = {
      guard let text = ProcessInfo.processInfo.environment["CARILLON_FAULT_SCRIPT"] else { return nil }
      let parts = text.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      precondition(parts.count == 3, "CARILLON_FAULT_SCRIPT is not script|find|replacement")
      return ScriptMutation(script: parts[0], find: parts[1], replacement: parts[2])
    }()

    /// Breaks the script; a text that is not in it would let the test of this break pass for nothing.
    func apply(to source: inout String, named name: String) {
      guard name == script else { return }
      precondition(source.contains(find), "CARILLON_FAULT_SCRIPT: \(name).lua does not contain \(find)")
      source = source.replacingOccurrences(of: find, with: replacement)
    }
  }
#endif
