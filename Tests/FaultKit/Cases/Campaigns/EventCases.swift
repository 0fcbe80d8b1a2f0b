import CampaignStore
import PushCore
import TestSupport

/// Workers die while they apply a backend's events about its users.
enum EventCases {
  static let all = [killed]

  private static let window = 50
  private static let workerDies = "SIGKILL while events are applied"

  /// Expected state of a user after all events were applied in their order.
  private struct Person: Equatable {
    var hasDevice = false
    var plan: String?
    var isTagged = false
  }

  static let killed = FaultCase(
    "events-and-kill", faults: [workerDies],
    invariant: "every event is applied, in its order; a campaign continues at the same time", bound: "window × kills"
  ) { stage in
    let world = try await stage.world {
      $0.partitions = 8
      $0.window = window
      $0.devices = stage.times(short: 500, full: 2000)
      $0.simulator = ["--latency", "200ms"]
    }
    let fleet = try await Fleet(stage, world, size: 3)
    let campaign = try await world.submit(FaultCampaign("beside"), reaching: 20)
    var people = Array(repeating: Person(), count: 60)
    var number = 0
    for _ in 1...stage.times(short: 2, full: 20) {
      var events: [String] = []
      for _ in 0..<stage.times(short: 600, full: 3000) {
        number += 1
        events.append(event(number, stage, &people))
      }
      try await world.push(events: events)
      await stage.elapse(milliseconds: 50...600)
      if try await fleet.killOne() { stage.fired(workerDies, duplicates: window) }
    }
    try await until("every event is applied") {
      try await world.store.registry.events(on: .registrations).events.isEmpty
    }
    // A worker applies the last events before it removes them from the list.
    for (number, person) in people.enumerated() {
      let user = "p\(number)"
      let known = try await world.store.registry.user(user)
      stage.expect(
        known?.devices.count ?? 0 == (person.hasDevice ? 1 : 0), "\(user) has \(known?.devices.count ?? 0) devices")
      let attributes = String(decoding: known?.attributes ?? [], as: UTF8.self)
      stage.expect(attributes == (person.plan.map { #"{"plan":"\#($0)"}"# } ?? ""), "\(user): \(attributes)")
      let segments = try await world.store.audiences.lists(of: user).segments
      stage.expect(segments == (person.isTagged ? ["seen"] : []), "\(user) is in \(segments)")
    }
    try await stage.check(world, after: campaign)
  }

  /// Returns an event about a user and updates the expected state. The user's devices are of a kind that no campaign
  /// uses.
  private static func event(_ number: Int, _ stage: Stage, _ people: inout [Person]) -> String {
    let place = stage.random(0...people.count - 1)
    let user = "p\(place)"
    let token = "ff" + String(repeating: "0", count: 58) + String(1000 + place)
    switch stage.random(0...9) {
    case 0...3:
      people[place].hasDevice = true
      people[place].plan = "r\(number)"
      return #"{"op":"register","user":"\#(user)","token":"\#(token)","kind":"voip","plan":"r\#(number)"}"#
    case 4:
      people[place].hasDevice = false
      people[place].plan = nil
      return #"{"op":"unregister","token":"\#(token)"}"#
    case 5...6:
      if people[place].hasDevice { people[place].plan = "a\(number)" }
      return #"{"op":"attribute","user":"\#(user)","plan":"a\#(number)"}"#
    case let roll:
      people[place].isTagged = roll < 9
      return #"{"op":"\#(roll < 9 ? "tag" : "untag")","user":"\#(user)","tags":["seen"]}"#
    }
  }
}
