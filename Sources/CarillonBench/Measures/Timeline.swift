/// Converts cumulative progress to rates.
enum Timeline {
  /// - Parameters:
  ///   - progress: completed work over time in seconds; neither value decreases.
  ///   - interval: duration in seconds over which a rate is calculated. It is longer if no sample lies in between.
  static func rates(_ progress: [(seconds: Double, done: Int)], every interval: Double) -> [(x: Double, y: Double)] {
    var points: [(x: Double, y: Double)] = []
    var begin: (seconds: Double, done: Int) = (0, 0)
    for (index, look) in progress.enumerated() {
      let seconds = look.seconds - begin.seconds
      guard seconds >= interval || (index == progress.count - 1 && seconds > interval / 5) else { continue }
      points.append(((begin.seconds + look.seconds) / 2, Double(look.done - begin.done) / seconds))
      begin = look
    }
    return points
  }
}
