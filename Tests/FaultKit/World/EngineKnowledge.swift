import PushTransport

/// Where engines differ in what a case may ask of them.
extension PushEngineKind {
  /// Whether it reads which streams a GOAWAY calls unprocessed, and believes it.
  var believesGoAway: Bool {
    switch self {
    case .curl: false
    case .native: true
    }
  }
}
