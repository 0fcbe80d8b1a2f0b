import PushCore
import Redis

/// The facts about a slice that `seal.lua` records when it seals the targets.
struct SliceSeal {
  /// Number of targets.
  var count: Int
  /// Number of pages of targets.
  var pages: Int
  /// Control group.
  var control = ControlUsers()
  /// Send times of the targets; `nil` if all may be sent immediately.
  var times: SendTimes?
  /// Number of departures from the partition before the expansion began; `nil` if unknown.
  var departures: Int?
  /// Number of targets of each variant, by place; empty without variants.
  var variants: [Int] = []
  /// Breakdown of the audience's users.
  var audience = AudienceCount()

  /// Creates the facts about a slice without variants and without send times.
  init(count: Int, pages: Int, departures: Int?) {
    (self.count, self.pages, self.departures) = (count, pages, departures)
  }

  /// Creates the facts about a slice with complete targets.
  ///
  /// - Parameters:
  ///   - targets: the complete targets.
  ///   - departures: the number of departures from the partition before the expansion began; `nil` if unknown.
  init(_ targets: SealedTargets, departures: Int?) {
    self.init(count: targets.count, pages: targets.ends.count, departures: departures)
    (control, times, variants, audience) = (targets.control, targets.times, targets.variants, targets.audience)
  }

  func write(to arguments: inout RedisArguments) {
    arguments.append(count)
    arguments.append(pages)
    arguments.append(control.count)
    arguments.append(control.pages.count)
    arguments.append(times?.bytes ?? [])
    let variants = variants.enumerated().filter { $0.element > 0 }
    let audience = audience.stored
    arguments.append(2 * (variants.count + audience.count))
    for (place, count) in variants {
      arguments.append(VariantCounts.targetsField(place))
      arguments.append(count)
    }
    for (field, count) in audience {
      arguments.append(field)
      arguments.append(count)
    }
  }
}
