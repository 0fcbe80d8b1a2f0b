import TestKit
import Testing

@testable import FCM

@Suite struct TokenFormTests {
  @Test(arguments: [
    ("fK3dQ0bLQ0mB1x2y3z4A5b:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx", TokenForm.registration),
    ("fK3dQ0:APA91bHun4MxP5e", .registration), ("cOfs8TqJQ0-B1x2y3z4A5_", .installation),
  ])
  func formOfAnAddressIsRecognized(text: String, form: TokenForm) {
    expect(TokenForm(text.utf8), is: form)
    expect(TokenForm.isInstallation(Array(text.utf8)[...]), is: form == .installation)
  }

  @Test(arguments: [
    "", "hello", "bOfs8TqJQ0-B1x2y3z4A5_", "cOfs8TqJQ0-B1x2y3z4A5_x", "fK3dQ0:AP A91", "fK3dQ0:APÄ91",
    String(repeating: "a:", count: 1025),
  ])
  func otherTextsAreRefused(text: String) {
    expect(TokenForm(text.utf8), is: nil)
    expect(!TokenForm.isInstallation(Array(text.utf8)[...]))
  }
}
