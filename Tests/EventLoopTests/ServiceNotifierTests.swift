import Dispatch
import EventLoop
import Foundation
import TestKit
import TestSupport
import Testing

struct ServiceNotifierTests {
  /// A path, and an abstract address that does not exist in the file system.
  @Test(arguments: [false, true]) func notifierSendsReadinessAndStop(isAbstract: Bool) async throws {
    let folder = try ScratchFolder("notify")
    let socket = try NotifySocket(isAbstract ? "@carillon-\(UUID().uuidString)" : folder.path("socket"))
    let notifier = try #require(ServiceNotifier(["NOTIFY_SOCKET": socket.address]))
    notifier.ready("works")
    notifier.stopping()
    var messages = socket.messages.makeAsyncIterator()
    expect(await messages.next(), is: "READY=1\nSTATUS=works")
    expect(await messages.next(), is: "STOPPING=1")
  }

  @Test func notifierSendsWatchdogMessagesFromItsLoop() async throws {
    let folder = try ScratchFolder("notify")
    let socket = try NotifySocket(folder.path("socket"))
    let environment = [
      "NOTIFY_SOCKET": socket.address, "WATCHDOG_USEC": "2000", "WATCHDOG_PID": String(getpid()),
    ]
    let notifier = try #require(ServiceNotifier(environment))
    let timer = notifier.keepAlive(on: EventLoop(label: "watched"))
    expect(timer != nil)
    var messages = socket.messages.makeAsyncIterator()
    for _ in 0..<3 { expect(await messages.next(), is: "WATCHDOG=1") }
    withExtendedLifetime(timer) {}
  }

  @Test func blockedLoopSendsNoWatchdogMessages() async throws {
    let folder = try ScratchFolder("notify")
    let socket = try NotifySocket(folder.path("socket"))
    let notifier = try #require(
      ServiceNotifier(["NOTIFY_SOCKET": socket.address, "WATCHDOG_USEC": "2000"]))
    let loop = EventLoop(label: "stuck")
    let timer = notifier.keepAlive(on: loop)
    _ = try #require(await socket.message(containing: "WATCHDOG=1"))
    let gate = DispatchSemaphore(value: 0)
    await withCheckedContinuation { stuck in
      loop.execute {
        stuck.resume()
        gate.wait()
      }
    }
    notifier.ready("first mark")
    _ = try #require(await socket.message(containing: "first mark"))
    notifier.ready("second mark")
    var messages = socket.messages.makeAsyncIterator()
    expect(await messages.next()?.contains("second mark"), is: true)
    gate.signal()
    expect(await messages.next(), is: "WATCHDOG=1")
    withExtendedLifetime(timer) {}
  }

  @Test func notifierIsSilentWithoutAServiceManager() throws {
    expect(ServiceNotifier([:]) == nil)
    expect(ServiceNotifier(["NOTIFY_SOCKET": ""]) == nil)
    expect(ServiceNotifier(["NOTIFY_SOCKET": "vsock:2:1234"]) == nil)
    expect(ServiceNotifier(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 107)]) == nil)
    let loop = EventLoop(label: "unwatched")
    let unwatched = try #require(ServiceNotifier(["NOTIFY_SOCKET": "/nowhere"]))
    expect(unwatched.keepAlive(on: loop) == nil)
    // The call has no effect if no process reads.
    unwatched.stopping()
    for watch in [["WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "soon"]] {
      let notifier = try #require(ServiceNotifier(watch.merging(["NOTIFY_SOCKET": "/nowhere"]) { $1 }))
      expect(notifier.keepAlive(on: loop) == nil)
    }
  }
}
