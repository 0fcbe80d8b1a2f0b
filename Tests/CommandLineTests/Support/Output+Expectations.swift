import TestSupport
import Testing

extension ChildProcess.Output {
  /// Checks the exit status and texts of the standard error.
  func expect(exit status: Int32, saying texts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(exit == .status(status), "\(standardError)", sourceLocation: sourceLocation)
    for text in texts { #expect(standardError.contains(text), "\(standardError)", sourceLocation: sourceLocation) }
  }
}
