import TestKit
import Testing

@testable import PushCore

/// Placeholders in the texts of a payload.
struct TemplateTextTests {
  @Test(arguments: [
    ("Hi {{name", "not closed"), ("{{a}} and {{b", "not closed"), ("{{name}", "not closed"),
    ("{{first name}}", "a blank"), ("{{na\u{200B}me}}", "U+200B"), ("{{name\u{FEFF}}}", "U+FEFF"),
    ("{{\u{A0}name}}", "U+A0"), ("{{na\u{AD}me}}", "U+AD"), ("{{\u{301}name}}", "U+301"), ("{{a\tb}}", "U+9"),
    (#"{{ x | default: "y" }}"#, "the filter default"), (#"{{x|default('y')}}"#, "the filter default"),
    (#"{{ x | upcase | default: "y" }}"#, "the filter upcase"), ("{{ x | downcase }}", "the filter downcase"),
    ("{{x|upcase}}", "the filter upcase"), ("{{ x | upper }}", "the filter upper"),
    ("{{ x | lower }}", "the filter lower"),
    ("{{ x | capitalize | default('y') }}", "the filter capitalize"), ("{{ x | title }}", "the filter title"),
    ("{{ x | trim }}", "the filter trim"), ("{{ x|striptags }}", "the filter striptags"),
    ("{{x || 'y'}}", "two bars"), ("{{#if x}}a{{/if}}", "Mustache"), ("{{/if}}", "Mustache"), ("{{^x}}", "Mustache"),
    ("{{> part}}", "Mustache"), ("{% if x %}a{% endif %}", "another template language"),
    ("a {%- assign x = 1 -%}", "another template language"), ("{{${name}}}", "no valid name"),
    ("{{}}", "no valid name"), ("{{x:nowhere}}", "has an unknown format"),
  ])
  func ambiguousTextIsAnError(text: String, part: String) {
    let problem = #expect(throws: TemplateText.Problem.self) { _ = try TemplateText(text) }
    expect(problem?.message.contains(part), is: true, "\(text): \(problem?.message ?? "")")
    expect(problem?.hint.isEmpty, is: false)
  }

  @Test(arguments: [
    ("{a} }} { {b} } {", [TemplateText.Part.text("{a} }} { {b} } {")]), ("100 {% off", [.text("100 {% off")]),
    ("${x} %{y} {%d%}", [.text("${x} %{y} {%d%}")]),
    ("{{|{{}} {{|{%}} if %}", [.text("{{"), .text(" "), .text("{%"), .text(" if %}")]),
    ("{{ name | there }}", [.value(name: "name", format: nil, fallback: " there ")]),
    ("{{a|default}}", [.value(name: "a", format: nil, fallback: "default")]),
    ("{{trend|lower}}", [.value(name: "trend", format: nil, fallback: "lower")]),
    ("{{name| first}}", [.value(name: "name", format: nil, fallback: " first")]),
    ("{{größe|–}}", [.value(name: "größe", format: nil, fallback: "–")]),
    ("{{$city}}", [.value(name: "$city", format: nil, fallback: "")]),
  ])
  func legalTextStaysLegal(text: String, parts: [TemplateText.Part]) throws {
    expect(try TemplateText(text).parts, is: parts)
  }

  /// Attributes are stored in NFC, and Swift compares two equivalent names as equal. So the test compares the bytes.
  @Test func nameIsReadInItsStoredForm() throws {
    guard case .value(let name, _, _)? = try TemplateText("{{pri\u{301}x}}").parts.first else { return }
    expect(Array(name.utf8), is: Array("pr\u{ED}x".utf8))
  }

  /// Swift joins such a character to the brace or the bar in front of it.
  @Test(arguments: ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}", "\u{1F3FB}"])
  func combiningCharacterHidesNoPlaceholder(mark: String) throws {
    let value = TemplateText.Part.value(name: "x", format: nil, fallback: "")
    expect(try TemplateText("{{x}}\(mark)!").parts, is: [value, .text("\(mark)!")])
    expect(try TemplateText("{{x}}\(mark){{x}}").parts, is: [value, .text(mark), value])
    expect(try TemplateText("{{x|\(mark)}}").parts, is: [.value(name: "x", format: nil, fallback: mark)])
  }

  @Test func quotedPayloadStandsForItself() throws {
    for text in ["{{x}}", "{% if x %}", "{{{%{{", "{ {%- a -%}"] {
      let quoted = String(decoding: TemplateText.quoted(Array(text.utf8)), as: UTF8.self)
      let parts = try TemplateText(quoted).parts
      expect(parts.reduce("") { if case .text(let part) = $1 { $0 + part } else { $0 + "?" } }, is: text)
    }
  }
}
