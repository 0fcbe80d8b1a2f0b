import EventLoop
import FaultKit
import TestKit
import Testing

/// Two ends with a proxy between them, with and without faults.
@Suite(.timeLimit(.minutes(6))) struct TCPProxyTests {
  @Test func bytesPassBothWaysAndAnEndIsToldInOrder() async throws {
    try await Scene.run { scene in
      try await scene.client.write("question")
      let target = try await scene.accepted()
      expect(try await target.read(8), is: "question")
      try await target.write("answer")
      expect(try await scene.client.read(6), is: "answer")
      await scene.client.finishWriting()
      expect(await target.end(), is: .closed)
      try await target.write("still here")
      expect(try await scene.client.read(10), is: "still here")
      await target.finishWriting()
      expect(await scene.client.end(), is: .closed)
      await scene.proxy.wait(until: { $0.open == 0 })
      let counters = await scene.proxy.counters
      expect((counters.accepted, counters.requestBytes, counters.replyBytes) == (1, 8, 16))
    }
  }

  @Test func megabytesPassWhole() async throws {
    try await Scene.run { scene in
      let text = String(repeating: "0123456789abcdef", count: 1 << 19)
      async let written: Void = scene.client.write(text)
      let target = try await scene.accepted()
      expect(try await target.read(text.utf8.count), is: text)
      try await written
    }
  }

  @Test func stalledConnectionGoesOnWhereItWas() async throws {
    try await Scene.run { scene in
      let target = try await scene.exchange()
      await scene.proxy.set(.stall)
      try await scene.client.write("later")
      await scene.proxy.wait(until: { $0.stalls == 1 })
      expect(await scene.proxy.counters.requestBytes, is: 4)
      await scene.proxy.set(.none)
      expect(try await target.read(5), is: "later")
    }
  }

  @Test func swallowedReplyIsLostAndConnectionIsReset() async throws {
    try await Scene.run { scene in
      let target = try await scene.exchange()
      await scene.proxy.set(.drop(requests: false, replies: true))
      try await scene.client.write("apply")
      expect(try await target.read(5), is: "apply")
      try await target.write("applied")
      await scene.proxy.wait(until: { $0.swallowedReplyBytes == 7 })
      await scene.proxy.set(.none)
      expect(await scene.client.end(), is: .failed)
    }
  }

  @Test func trapCutsInTheMiddleOfAPiece() async throws {
    try await Scene.run { scene in
      let target = try await scene.exchange()
      await scene.proxy.cut(after: 3, of: .requests, by: .finish)
      try await scene.client.write("abcdef")
      expect(try await target.read(3), is: "abc")
      expect(await target.end(), is: .closed)
      expect(await scene.proxy.counters.cuts, is: 1)
    }
  }

  @Test func trapForRepliesLetsTheRequestThroughAndResets() async throws {
    try await Scene.run { scene in
      let target = try await scene.exchange()
      await scene.proxy.cut(after: 0, of: .replies)
      try await scene.client.write("apply")
      expect(try await target.read(5), is: "apply")
      try await target.write("applied")
      expect(await scene.client.end(), is: .failed)
      expect(await target.end(), is: .failed)
      expect(await scene.proxy.counters.cuts, is: 1)
    }
  }

  @Test func disarmedTrapCutsNothing() async throws {
    try await Scene.run { scene in
      await scene.proxy.cut(after: 0, of: .requests)
      await scene.proxy.disarm()
      _ = try await scene.exchange()
      expect(await scene.proxy.counters.cuts, is: 0)
    }
  }

  @Test func everyConnectionCanBeCutAtOnce() async throws {
    try await Scene.run { scene in
      let target = try await scene.exchange()
      expect(await scene.proxy.cutAll(), is: 1)
      expect(await scene.client.end(), is: .failed)
      expect(await target.end(), is: .failed)
    }
  }

  @Test func halfOpenConnectionLosesItsTargetOnly() async throws {
    try await Scene.run { scene in
      let target = try await scene.exchange()
      await scene.proxy.set(.halfOpen)
      expect(await target.end(), is: .closed)
      try await scene.client.write("anybody?")
      await scene.proxy.wait(until: { $0.swallowedRequestBytes == 8 })
      expect(await scene.proxy.counters.halfOpened, is: 1)
      await scene.proxy.set(.none)
      expect(await scene.client.end(), is: .failed)
    }
  }

  @Test func delayHoldsEveryPieceBackInOrder() async throws {
    try await Scene.run { scene in
      let target = try await scene.exchange()
      await scene.proxy.setDelay(milliseconds: 50)
      let begin = ContinuousClock.now
      try await scene.client.write("one")
      await scene.proxy.wait(until: { $0.delayed == 1 })
      await scene.proxy.setDelay(milliseconds: 0)
      try await scene.client.write("two")
      expect(try await target.read(6), is: "onetwo")
      expect(begin.duration(to: .now) >= .milliseconds(50))
    }
  }

  @Test func proxyAcceptsAgainOnSamePortAfterRefusal() async throws {
    try await Scene.run { scene in
      for _ in 0..<3 {
        await scene.proxy.refuse()
        let refused = try End.connect(to: scene.proxy.port)
        await #expect(throws: SocketError.self) { try await refused.connected() }
        try await scene.proxy.accept()
        try await End.connect(to: scene.proxy.port).connected()
      }
      _ = try await scene.exchange()
    }
  }

  @Test func targetThatIsNotThereResetsTheClient() async throws {
    let proxy = try await TCPProxy.start(to: 1)
    expect(await (try End.connect(to: proxy.port)).end(), is: .failed)
    await proxy.stop()
  }
}
