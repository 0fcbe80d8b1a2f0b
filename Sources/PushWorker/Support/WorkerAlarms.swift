import EventLoop

/// What ends the sleep of each of a worker's loops.
struct WorkerAlarms {
  let intake: Alarm
  let largeJobs: Alarm
  let claims: Alarm
  let pulse: Alarm
  let control: Alarm
  let housekeeping: Alarm

  init(on loop: EventLoop) {
    func alarm() -> Alarm { Alarm(on: loop, remembers: true) }
    (intake, largeJobs, claims) = (alarm(), alarm(), alarm())
    (pulse, control, housekeeping) = (alarm(), alarm(), alarm())
  }

  /// Those of the loops that go on while a worker stops, so that they see its end.
  func ringAtEnd() {
    for alarm in [pulse, control, housekeeping] { alarm.ring() }
  }
}
