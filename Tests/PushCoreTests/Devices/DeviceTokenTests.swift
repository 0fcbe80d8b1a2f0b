import PushCore
import TestKit
import Testing

struct DeviceTokenTests {
  @Test func tokensAreBounded() {
    expect(DeviceToken(bytes: []), is: nil)
    expect(DeviceToken(bytes: Array(repeating: 1, count: 2048)) != nil)
    expect(DeviceToken(bytes: Array(repeating: 1, count: 2049)), is: nil)
  }
}
