import EventLoop
import TestKit
import Testing

@testable import PushWorker

/// The loop that the parts of a worker share.
@Suite struct WorkerLoopTests {
  @Test(.timeLimit(.minutes(6)))
  func tasksGroupsAndTimersOfAPartRunOnTheLoop() async {
    let places = await Host().places()
    expect(places, is: [true, true, true, true, true])
  }

  @Test(.timeLimit(.minutes(6)))
  func onlyALatchedSignalKeepsANotification() async {
    expect(await Host().ringsWithoutAWaiter(), is: ["latched goes on", "other waits", "other goes on"])
  }
}

/// An actor on a loop, which replaces the worker.
private actor Host: WorkerLoopHost {
  private let events = EventLoop(label: "worker loop tests")
  private let loop: WorkerLoop
  private let part: Part

  nonisolated var unownedExecutor: UnownedSerialExecutor { events.asUnownedSerialExecutor() }

  init() {
    loop = WorkerLoop(events)
    part = Part(loop)
  }

  func places() async -> [Bool] {
    loop.attach(self)
    return await part.places(self)
  }

  func ringsWithoutAWaiter() async -> [String] {
    loop.attach(self)
    return await part.ringsWithoutAWaiter()
  }

  func runTask(_ number: Int) async { await loop.task(number)?() }

  func runGroup(_ number: Int) async {
    await withDiscardingTaskGroup { group in await self.runGroup(number, &group) }
  }

  private func runGroup(_ number: Int, _ group: inout DiscardingTaskGroup) async { await loop.group(number)?(&group) }

  func runCallback(_ number: Int, _ value: any Sendable) { loop.call(number, value) }
}

/// A part of the host.
private final class Part {
  private let loop: WorkerLoop

  init(_ loop: WorkerLoop) {
    self.loop = loop
  }

  /// Returns whether each of these ran on the actor: a direct call, a task, the body of a group, a task of a group and
  /// a callback.
  func places(_ host: Host) async -> [Bool] {
    var places = [await isOn(host)]
    let ended = LoopSignal(isLatched: true)
    loop.start {
      places.append(await self.isOn(host))
      ended.wake()
    }
    await ended.wait()
    await loop.withGroup { group in
      places.append(await self.isOn(host))
      self.loop.start(in: &group) { places.append(await self.isOn(host)) }
    }
    // A timer's callback ends the wait.
    await LoopSignal().wait(milliseconds: 1, on: loop)
    places.append(await isOn(host))
    return places
  }

  func ringsWithoutAWaiter() async -> [String] {
    var events: [String] = []
    let (latched, other, ended) = (LoopSignal(isLatched: true), LoopSignal(), LoopSignal(isLatched: true))
    latched.wake()
    await latched.wait()
    events.append("latched goes on")
    other.wake()
    loop.start {
      await other.wait()
      events.append("other goes on")
      ended.wake()
    }
    // Runs while the first task waits.
    loop.start {
      events.append("other waits")
      other.wake()
    }
    await ended.wait()
    return events
  }

  private func isOn(_ host: Host) async -> Bool { #isolation === host }
}
