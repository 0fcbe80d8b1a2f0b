/// From how much was done when to how much was done a second.
enum Timeline {
  /// - Parameters:
  ///   - progress: what was done so far, by seconds; neither ever falls.
  ///   - interval: seconds over which a rate is taken; longer where nobody looked in between.
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
