import PushCore
import TestKit
import Testing

/// Search for a user and a token in a text that is not valid JSON.
struct UnreadableTextTests {
  @Test(arguments: [
    (#"{"users":["ada","be"#, true), (#"{"users":["ben","ad"#, true), (#"{"users":["ben","\u0061d\u0061"#, true),
    (#"{"users":["ben","ad\u00"#, true), ("{'users':['ada']}", true), ("ada", true), ("user=ada&x=1", true),
    (#"{"users":["ben","x"#, false), (#"{"users":["Ada","adam","nevada","ada-2"]"#, false),
    (#""ada@example.com""#, false), ("", false),
  ])
  func userIsFoundAsAWord(text: String, isThere: Bool) {
    expect(UnreadableText(Array(text.utf8)).mayContain("ada"), is: isThere, "\(text)")
  }

  @Test func numberIsFound() {
    for text in ["[1,4711,2", "[1,4711.0,2", "[1,47", #"["4711""#] {
      expect(UnreadableText(Array(text.utf8)).mayContain("4711"), "\(text)")
    }
    for text in ["[1,47110,2", "[1,14711,2"] {
      expect(!UnreadableText(Array(text.utf8)).mayContain("4711"), "\(text)")
    }
  }

  @Test func formsOfUnicodeAreTheSame() {
    // The identifier is in NFC, the text in NFC, in NFD, in escapes, or cut inside a character.
    let id = "Zo\u{EB}😀x"
    for text in ["\"Zo\u{EB}😀x\"", "\"Zoe\u{308}😀x\"", #""Zo\u00eb\ud83d\ude00x""#, #""Zo\u00eb\ud83d\ude"#] {
      let bytes = Array(text.utf8)
      expect(UnreadableText(bytes).mayContain(id), "\(text)")
      for end in 2..<bytes.count { expect(UnreadableText(Array(bytes[..<end])).mayContain(id), "\(text) \(end)") }
    }
  }

  @Test func tokenIsFoundInEveryForm() {
    let token = "00ff00ff00ff00ffaabbccdd"
    for text in [#"["00FF00FF00FF00FFAABBCCDD""#, #"["<00ff00ff 00ff00ff aabbccdd>""#, #"["00FF00FF0"#] {
      expect(UnreadableText(Array(text.utf8)).mayContain(token: token), "\(text)")
    }
    for text in [#"["00ff"#, #"["00ff00ff00ff00ffaabbccde""#] {
      expect(!UnreadableText(Array(text.utf8)).mayContain(token: token), "\(text)")
    }
  }
}
