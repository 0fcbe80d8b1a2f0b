import APNsSimulator
import TestKit
import Testing

@Suite struct DeviceStateTests {
  private static let hex = "0011223344556677"
  private static let token: [UInt8] = [0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77]

  private func answer(
    to device: SimulatedDevice, unknown: SimulatorKnobs.UnknownTokens = .accept, push hex: String = Self.hex
  ) async throws -> PushClient.Response {
    var response = PushClient.Response()
    try await Scene.run {
      $0.knobs.unknownTokens = unknown
    } _: { (scene) async throws in
      scene.simulator.load([device])
      response = try await scene.push(try scene.request(hex))
    }
    return response
  }

  @Test func registeredTokenIsAcceptedForItsTopic() async throws {
    let device = SimulatedDevice(token: Self.token, topic: Scene.topic)
    expect(try await answer(to: device, unknown: .bad).status, is: 200)
  }

  @Test func registeredTokenWithoutTopicTakesAny() async throws {
    expect(try await answer(to: SimulatedDevice(token: Self.token), unknown: .bad).status, is: 200)
  }

  @Test func upperCaseDigitsNameTheSameToken() async throws {
    let device = SimulatedDevice(token: [0xAB, 0xCD, 0xEF])
    expect(try await answer(to: device, unknown: .bad, push: "ABcdEF").status, is: 200)
  }

  @Test func tokenOfAnotherTopicIsNotForThisOne() async throws {
    let device = SimulatedDevice(token: Self.token, topic: "com.example.other")
    let response = try await answer(to: device)
    expect(response.status, is: 400)
    expect(response.body, is: #"{"reason":"DeviceTokenNotForTopic"}"#)
  }

  @Test func wrongTopicTokenIsForNoTopic() async throws {
    let response = try await answer(to: SimulatedDevice(token: Self.token, state: .wrongTopic))
    expect(response.body, is: #"{"reason":"DeviceTokenNotForTopic"}"#)
  }

  @Test(arguments: [(SimulatedDevice.State.unregistered, "Unregistered"), (.expired, "ExpiredToken")])
  func unregisteredTokenAnswerHasItsTime(state: SimulatedDevice.State, reason: String) async throws {
    let device = SimulatedDevice(token: Self.token, state: state, timestamp: 1_700_000_000_123)
    let response = try await answer(to: device)
    expect(response.status, is: 410)
    expect(response.body, is: #"{"reason":"\#(reason)","timestamp":1700000000123}"#)
  }

  @Test func badTokenIsBadEvenWhereUnknownOnesAreAccepted() async throws {
    let response = try await answer(to: SimulatedDevice(token: Self.token, state: .bad))
    expect(response.status, is: 400)
    expect(response.body, is: #"{"reason":"BadDeviceToken"}"#)
  }

  @Test func knobDecidesAboutUnknownTokens() async throws {
    let other = SimulatedDevice(token: [1, 2, 3])
    expect(try await answer(to: other, unknown: .accept).status, is: 200)
    expect(try await answer(to: other, unknown: .bad).body, is: #"{"reason":"BadDeviceToken"}"#)
  }

  @Test func laterStateReplacesTheEarlier() async throws {
    try await Scene.run { (scene) async throws in
      scene.simulator.load([SimulatedDevice(token: Self.token, state: .unregistered, timestamp: 5)])
      scene.simulator.load([SimulatedDevice(token: Self.token)])
      expect(try await scene.push(try scene.request(Self.hex)).status, is: 200)
      expect(await scene.simulator.counters().devices, is: 1)
    }
  }
}
