import APNs
import TestKit
import TestSupport
import Testing

@testable import PushCore

/// The content of each variant in each language.
struct VariantContentTests {
  private func content(_ job: String) throws -> PersonalContent {
    let options = #""apns":{"pushType":"voip""#
    let fields =
      job.hasPrefix(#""variants""#)
      ? options + "}," + job : job.replacing(#""apns":{"#, with: options + ",", maxReplacements: 1)
    return try #require(
      try CampaignJob.parse(
        Array(#"{"id":"c1","app":"news","audience":{"segment":"*"},\#(fields)}"#.utf8), .any([APNsService()])
      ).message.content)
  }

  private func text(
    _ content: PersonalContent, _ variant: Int, _ locale: String = "", attributes: String = "{}"
  ) -> String {
    var user = PersonalContent.User(content)
    var sealed: [UInt8] = []
    Array(attributes.utf8).withUnsafeBytes { attributes in
      content.find(&user, values: .init(start: nil, count: 0), attributes: attributes)
      Array(locale.utf8).withUnsafeBytes { content.writeValues(of: &user, locale: $0, variant: variant, to: &sealed) }
    }
    let values = TargetValues(sealed[...])
    expect(content.variant(of: values), is: variant)
    var payload: [UInt8] = []
    expect(content.write(values, id: (1, 2), most: 4096, to: &payload))
    return String(decoding: payload, as: UTF8.self)
  }

  @Test func variantsOverrideFieldsAndLanguagesOverrideVariants() throws {
    let content = try content(
      #"""
      "apns":{"payload":{"t":"Hi {{name|you}}","n":1}},"localized":{"de":{"apns":{"payload":{"t":"Hallo {{name|du}}"}}}},
      "variants":[{"name":"a"},{"name":"b","apns":{"payload":{"n":2}}},
        {"name":"c","apns":{"payload":{"n":null,"t":"Hey"}},"localized":{"de":{"apns":{"payload":{"t":"Hej"}}},"fr-CA":{"apns":{"payload":{"t":"Salut"}}}}}]
      """#)
    expect(text(content, 0), is: #"{"t":"Hi you","n":1}"#)
    expect(text(content, 1, "de-AT", attributes: #"{"name":"Ada"}"#), is: #"{"t":"Hallo Ada","n":2}"#)
    expect(text(content, 2, "en"), is: #"{"t":"Hey"}"#)
    expect(text(content, 2, "de"), is: #"{"t":"Hej"}"#)
    expect(text(content, 2, "fr-CA-x-a"), is: #"{"t":"Salut"}"#)
    expect(text(content, 0, "fr-CA"), is: #"{"t":"Hi you","n":1}"#)
    expect(content.variantLanguages, is: 3)
  }

  @Test func withoutAPayloadOfTheJobEachVariantHasItsOwn() throws {
    let content = try content(
      #""variants":[{"name":"a","apns":{"payload":{"aps":{"badge":"+1"}}}},{"name":"b","apns":{"payload":{"aps":{"badge":"+1"},"x":1}}}]"#
    )
    expect(text(content, 1), is: #"{"aps":{"badge":1},"x":1}"#)
    expect(content.badgeStep, is: 1)
    let error = #expect(throws: JobError.self) {
      try self.content(
        #""variants":[{"name":"a","apns":{"payload":{"aps":{"badge":"+1"}}}},{"name":"b","apns":{"payload":{"aps":{"badge":"+2"}}}}]"#
      )
    }
    expect(
      error?.reason.hasPrefix("variants[1].apns.payload.aps.badge: differs from the badge step"), is: true,
      "\(error?.reason ?? "")")
  }

  @Test func templatesReplacePayloads() throws {
    let job = Array(
      (#"{"id":"c1","app":"news","audience":{"segment":"*"},"apns":{"pushType":"voip"},"variants":["#
        + #"{"name":"a","template":"t@2"},{"name":"b","template":"u","weight":2}]}"#).utf8)
    let references = try CampaignJob.templates(of: job)
    expect(references.map(\.description), is: ["t@2", "u"])
    let templates = Dictionary(
      uniqueKeysWithValues: references.map { reference in
        let content = Array(
          (#"{"apns":{"payload":{"x":"\#(reference.name)"}},"#
            + #""localized":{"de":{"apns":{"payload":{"x":"\#(reference.name)-de"}}}}}"#).utf8)
        return (reference, JobTemplate(name: reference.name, version: 2, content: content))
      })
    let resolved = try CampaignJob.resolve(job, templates)
    let campaign = try CampaignJob.parse(resolved, .any([APNsService()]))
    let content = try #require(campaign.message.content)
    expect(text(content, 0, "de") == #"{"x":"t-de"}"# && text(content, 1) == #"{"x":"u"}"#)
    expect(campaign.message.variants?.all.map(\.weight), is: [1, 2])
    let error = #expect(throws: JobError.self) {
      try CampaignJob.templates(of: Array(#"{"variants":[{"template":"a b"}]}"#.utf8))
    }
    expect(error?.reason, is: "variants[0].template: is not a valid template reference")
  }

  /// For any languages of the variants, a variant has the same content for a device as a campaign of that variant
  /// alone.
  @Test func eachVariantHasTheContentThatItHasAlone() throws {
    var seed = Seed("eachVariantHasTheContentThatItHasAlone")
    let tags = ["de", "de-at", "de-at-1996", "fr", "fr-ca", "zh-hans", "zh", "zh-cn", "zh-tw", "en-001", "en-us"]
    let locales = [
      "", "en", "de", "de-AT", "de-AT-1996-x", "fr-CA", "fr-FR", "zh-Hans-CN", "zh-Hant", "zh-SG", "en-NZ", "x",
    ]
    for _ in 0..<20 {
      var members: [(payload: String, localized: String)] = []
      for number in 0..<Int.random(in: 2...5, using: &seed) {
        let own = tags.filter { _ in Bool.random(using: &seed) }
        let localized = own.map { #""\#($0)":{"apns":{"payload":{"x":"\#(number) \#($0)"}}}"# }.joined(separator: ",")
        members.append((#"{"x":"\#(number)"}"#, "{\(localized)}"))
      }
      let together = try content(
        #""variants":["#
          + members.enumerated().map {
            #"{"name":"v\#($0)","apns":{"payload":\#($1.payload)},"localized":\#($1.localized)}"#
          }
          .joined(separator: ",") + "]")
      for (place, member) in members.enumerated() {
        // The values make the content personal for any languages.
        let alone = try content(
          #""uniqueKey":"id","apns":{"payload":\#(member.payload)},"localized":\#(member.localized)"#)
        for locale in locales {
          let expected = text(of: alone, locale).prefix { $0 != "," && $0 != "}" }
          expect(text(together, place, locale).prefix { $0 != "," && $0 != "}" }, is: expected, "\(seed) \(locale)")
        }
      }
    }
  }

  private func text(of content: PersonalContent, _ locale: String) -> String {
    var user = PersonalContent.User(content)
    var sealed: [UInt8] = []
    Array(locale.utf8).withUnsafeBytes { content.writeValues(of: &user, locale: $0, to: &sealed) }
    expect(content.variant(of: TargetValues(sealed[...])), is: nil)
    var payload: [UInt8] = []
    _ = content.write(TargetValues(sealed[...]), id: (1, 2), most: 4096, to: &payload)
    return String(decoding: payload, as: UTF8.self)
  }
}
