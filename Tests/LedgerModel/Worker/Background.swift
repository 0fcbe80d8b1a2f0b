/// A worker's background loops: dequeuing, heartbeats, campaign control.
extension World {
  /// Executes one step that is due. Returns false if none is due.
  mutating func background(_ place: Int) -> Bool {
    if !workers[place].dueTasks.isEmpty, random.once(in: 2) {
      runDueTask(place)
      return true
    }
    if now >= workers[place].nextHeartbeat {
      workers[place].nextHeartbeat = now + 4
      pulse(place)
      return true
    }
    if now >= workers[place].nextControl, !workers[place].working.isEmpty {
      workers[place].nextControl = now + 2
      syncControl(place)
      return true
    }
    if store.control.state == .absent {
      _ = call(StoreCall(.activate))
      return true
    }
    if mayClaim(place), store.control.isOnLane, let position = freePosition(place) {
      dequeue(place, position)
      return true
    }
    if !workers[place].dueTasks.isEmpty {
      runDueTask(place)
      return true
    }
    return false
  }

  private func freePosition(_ place: Int) -> Int? {
    for position in 0..<4 where workers[place].runs[position].stage == .none { return position }
    return nil
  }

  private mutating func dequeue(_ place: Int, _ position: Int) {
    guard let reply = call(StoreCall(.dequeue, name: workers[place].name)), reply.result == .done else { return }
    var run = Run()
    run.slice = reply.slice
    run.stage = .look
    workers[place].runs[position] = run
    permits[place][position] = SIMD8()
    barred[place][position] = SmallSet()
  }

  /// Sends a heartbeat and creates the maintenance work that is due.
  private mutating func pulse(_ place: Int) {
    let name = workers[place].name
    guard call(StoreCall(.heartbeat, name: name)) != nil else { return }
    let control = store.control
    for slice in control.parked where control.due[slice] <= now {
      workers[place].dueTasks.append(StoreCall(.requeue, slice: slice, name: name))
    }
    if !rules.breaks(.noTakeover) {
      for dead in control.workers where dead != name && Int(control.seen[dead]) <= now - Rules.lease {
        let list = control.processing[dead]
        for number in 0..<list.count {
          workers[place].dueTasks.append(StoreCall(.inspect, slice: list[number], name: dead))
        }
        workers[place].dueTasks.append(StoreCall(.removeWorker, name: dead))
      }
    }
    var unknown = SmallSet()
    let own = control.processing[name]
    for number in 0..<own.count { unknown.insert(own[number]) }
    unknown = unknown.subtracting(workers[place].working)
    if !rules.breaks(.noLeftovers) {
      for slice in unknown.intersection(workers[place].leftovers) {
        workers[place].dueTasks.append(StoreCall(.inspect, slice: slice, name: name))
      }
    }
    workers[place].leftovers = unknown
    if !rules.breaks(.noReopen), random.once(in: 2) { workers[place].dueTasks.append(StoreCall(.reopen)) }
  }

  private mutating func runDueTask(_ place: Int) {
    let call = workers[place].dueTasks.removeFirst()
    guard let reply = self.call(call), call.kind == .inspect else { return }
    // There are three cases: the lease is valid for this owner, it is valid for another one, or it has expired.
    if reply.ticks > 0, reply.isOwner { return }
    var next = call
    if reply.ticks > 0 {
      next.kind = .postpone
      next.ticks = reply.ticks
    } else {
      next.kind = reply.state == .absent ? .dismiss : .requeue
    }
    workers[place].dueTasks.append(next)
  }

  /// Reads the campaign's state and applies it.
  private mutating func syncControl(_ place: Int) {
    guard let reply = call(StoreCall(.look)) else { return }
    for position in 0..<4 {
      let stage = workers[place].runs[position].stage
      guard stage == .drive || stage == .reconcile || stage == .study else { continue }
      switch reply.state {
      case .cancelled: workers[place].withdraw(position, .cancel)
      // A campaign may be missing because Redis lost the write. Then its job is activated again.
      case .absent: workers[place].withdraw(position, rules.breaks(.goneMeansCancelled) ? .cancel : .leave)
      case .paused: workers[place].withdraw(position, .leave)
      case .active, .completed: break
      }
    }
  }
}
