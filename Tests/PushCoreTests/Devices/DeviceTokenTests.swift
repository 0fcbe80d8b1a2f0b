import PushCore
import Testing

struct DeviceTokenTests {
  @Test func tokensAreBounded() {
    #expect(DeviceToken(bytes: []) == nil)
    #expect(DeviceToken(bytes: Array(repeating: 1, count: 2048)) != nil)
    #expect(DeviceToken(bytes: Array(repeating: 1, count: 2049)) == nil)
  }
}
