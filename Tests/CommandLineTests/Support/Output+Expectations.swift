import TestKit
import TestSupport
import Testing

extension ChildProcess.Output {
  /// Checks the exit status and texts of the standard error.
  func expect(exit status: Int32, saying texts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
    TestKit.expect(exit, is: .status(status), "\(standardError)", sourceLocation: sourceLocation)
    for text in texts {
      TestKit.expect(standardError.contains(text), "\(standardError)", sourceLocation: sourceLocation)
    }
  }
}
