import PushTransport

/// Differences between the engines that matter for cases.
extension PushEngineKind {
  /// Whether the engine reads the unprocessed streams of a GOAWAY and relies on them.
  var believesGoAway: Bool {
    switch self {
    case .curl: false
    case .native: true
    }
  }
}
