import APNs
import PushCore
import TestKit
import TestSupport
import Testing

/// `message` of a job as APNs gets it, with the object `apns` merged over it.
struct CommonMessageTests {
  static let rendered: [(fields: [String: String], payload: String)] = [
    (["message": #"{"title":"T","body":"B"}"#], #"{"aps":{"alert":{"title":"T","body":"B"}}}"#),
    (["message": #"{"body":"B","title":null}"#], #"{"aps":{"alert":{"body":"B"}}}"#),
    (
      ["message": #"{"title":"T","sound":"default","badge":3}"#],
      #"{"aps":{"alert":{"title":"T"},"sound":"default","badge":3}}"#
    ),
    (["message": #"{"badge":0}"#], #"{"aps":{"badge":0}}"#),
    (
      [
        "message": #"{ "body" : "H\u00e9", "image": "https://a.example/i.jpg", "link":"app://x","data":{"sale":"42"} }"#
      ],
      #"{"aps":{"alert":{"body":"H\u00e9"},"mutable-content":1},"image":"https://a.example/i.jpg","link":"app://x","sale":"42"}"#
    ),
    (["message": #"{"data":{"k":"v"}}"#], #"{"aps":{"content-available":1},"k":"v"}"#),
    (
      ["message": #"{"body":"B"}"#, "payload": #"{"aps":{"alert":{"subtitle":"S"},"category":"c"},"n":{"x":null}}"#],
      #"{"aps":{"alert":{"body":"B","subtitle":"S"},"category":"c"},"n":{}}"#
    ),
    (
      ["message": #"{"body":"B","sound":"s"}"#, "payload": #"{"aps":{"alert":"own","sound":null}}"#],
      #"{"aps":{"alert":"own"}}"#
    ),
    (
      ["payload": #"{ "aps": { "alert":"\u0048i" }, "n": [1.50, null] }"#],
      #"{"aps":{"alert":"\u0048i"},"n":[1.50,null]}"#
    ),
  ]

  /// Without `message` the payload of `apns` is sent byte for byte, without white space.
  @Test(arguments: rendered) func messageIsRenderedAndTheOwnObjectIsMergedOverIt(
    fields: [String: String], payload: String
  ) throws {
    let campaign = try CampaignJob.parse(bytes(fields), .any([APNsService()]))
    expect(String(decoding: campaign.message.payload, as: UTF8.self), is: payload)
    expect(campaign.message.content, is: nil)
  }

  @Test(arguments: [
    ([:], "alert", 10), (["urgency": #""high""#], "alert", 10), (["urgency": #""normal""#], "alert", 5),
    (["urgency": #""low""#], "alert", 1), (["urgency": #""low""#, "priority": "5"], "alert", 5),
    (["message": #"{"data":{"k":"v"}}"#], "background", 5),
    (["message": #"{"data":{"k":"v"}}"#, "payload": #"{"aps":{"badge":1}}"#], "alert", 10),
    (["message": #"{"data":{"k":"v"}}"#, "pushType": #""voip""#], "voip", 10),
  ])
  func optionsFollowFromUrgencyAndMessage(fields: [String: String], type: String, priority: Int) throws {
    let fields = fields.merging(["message": #"{"body":"B"}"#]) { own, _ in own }
    let message = try CampaignJob.parse(bytes(fields), .any([APNsService()])).message
    expect(message.pushType == type && message.priority == priority)
  }

  /// Fields of a job, the place of the error, and a part of its text.
  private static let errors: [([String: String], String, String)] = [
    (["message": #"{"title":1}"#], "message.title", "must be a string, not a number"),
    (["message": #"{"titel":"T"}"#], "message.titel", "did you mean 'title'?"),
    (["message": "{}"], "message", "is empty"),
    (["message": #"{"badge":-1}"#], "message.badge", "must be a whole number or a step"),
    (["message": #"{"body":"B","data":{"n":1}}"#], "message.data.n", "must be a string, not a number"),
    (["message": #"{"body":"B","data":{"aps":"x"}}"#], "message.data.aps", "is reserved for APNs"),
    (
      ["message": #"{"body":"B","link":"app:l","data":{"link":"x"}}"#], "message.data.link",
      "has the key that the payload uses for message.link"
    ),
    (["message": #"{"body":"B","link":"not a url"}"#], "message.link", "'not a url' is not a URL"),
    (["message": #"{"body":"B","link":"shop.example.com/sale"}"#], "message.link", "write https://"),
    (["message": #"{"body":"B","link":"https://shop.example.com/a b"}"#], "message.link", "is not a URL"),
    (["message": #"{"body":"B","image":"a.png"}"#], "message.image", "'a.png' is not a URL"),
    (
      ["message": #"{"body":"B"}"#, "localized": #"{"de":{"link":"seite 1"}}"#], "localized.de.link", "is not a URL"
    ),
    (
      ["message": #"{"body":"B","link":"app:l"}"#, "trim": #""message.link""#], "trim", "is not a title or a body"
    ),
    (["message": #"{"body":"B","data":{"k":"v"}}"#, "trim": #""message.data.k""#], "trim", "use message.title"),
    (["message": #"{"body":"B"}"#, "trim": #""body""#], "trim", "is not the path of a text in the job"),
    (
      [
        "message": #"{"body":"B"}"#, "payload": #"{"aps":{"alert":{"body":"own"}}}"#, "trim": #""message.body""#,
      ], "trim", "the payload for APNs replaces 'message.body'"
    ),
    (["message": #"{"body":"{{}}"}"#], "message.body", "has no valid name"),
    (["message": #"{"body":"B"}"#, "localized": #"{"de":{"body":"{{}}"}}"#], "localized.de.body", "has no valid name"),
    (["message": #"{"body":"B"}"#, "localized": #"{"de":{"badge":"x"}}"#], "localized.de.badge", "must be a whole"),
    (
      ["message": #"{"body":"B"}"#, "localized": #"{"de":{"aps":{}}}"#], "localized.de.aps",
      "did you mean 'apns'?"
    ),
    (
      ["message": #"{"body":"B"}"#, "localized": #"{"de":{"apns":{"priority":5}}}"#], "localized.de.apns.priority",
      "is the same for all languages"
    ),
    (
      ["payload": #"{"aps":{"alert":"a"}}"#, "localized": #"{"de":{"body":"B"}}"#], "localized.de.body",
      "the job has no message"
    ),
    (
      ["message": #"{"body":"B"}"#, "payload": #"{"aps":{"bagde":1}}"#], "apns.payload.aps.bagde",
      "did you mean 'badge'?"
    ),
    (
      ["message": #"{"body":"B"}"#, "payload": #"{"aps":{"alert":{"body":1}}}"#], "apns.payload.aps.alert.body",
      "must be"
    ),
    (["message": #"{"body":""}"#], "message", "devices show nothing"),
    (
      ["message": #"{"body":"B"}"#, "pushType": #""liveactivity""#, "payload": #"{"aps":{"event":"update"}}"#],
      "apns.payload.aps.content-state", "event update needs it"
    ),
    (["message": #"{"data":{"k":"v"}}"#, "urgency": #""high""#], "urgency", "does not allow 10"),
    (["message": #"{"body":"B"}"#, "services": "[]"], "services", "is empty"),
    (["message": #"{"body":"B"}"#, "services": #"["fcm"]"#], "services[0]", "does not use the push service 'fcm'"),
    (["apns": #"{"pushType":"alert"}"#], "message", "the job has no content for APNs"),
    (["apns": #"{"paylod":{}}"#], "apns.paylod", "did you mean 'payload'?"),
    (["message": #"{"body":"B"}"#, "trim": #""message.title""#], "trim", "is not a string of the push"),
    (
      ["message": #"{"body":"B"}"#, "uniqueKey": #""k""#, "localized": #"{"de":{"data":{"k":"v"}}}"#],
      "localized.de.data.k", "has the name that uniqueKey adds to the payload"
    ),
    (["variants": #"[{"name":"a","message":{"body":"A"}},{"name":"b"}]"#], "variants[1].message", "is missing"),
    (
      ["variants": #"[{"name":"a","message":{"body":"A"}},{"name":"b","message":{"body":1}}]"#],
      "variants[1].message.body", "must be a string"
    ),
    (
      ["message": #"{"body":"B"}"#, "variants": #"[{"name":"a"},{"name":"b","apns":{"priority":5}}]"#],
      "variants[1].apns", "has other options"
    ),
  ]

  @Test(arguments: errors)
  func errorNamesTheRealPlace(fields: [String: String], place: String, says: String) throws {
    let error = #expect(throws: JobError.self) { try CampaignJob.parse(bytes(fields), .any([APNsService()])) }
    expect(error?.field == place && error?.description.contains(says) == true, "\(error?.description ?? "")")
  }

  @Test(arguments: [
    (
      #""payload":{"aps":{"alert":"hi"}}"#,
      #"payload: moved into the object of a push service (write {"apns":{"payload":…}})"#
    ),
    (#""message":{"body":"B"},"pushType":"alert""#, #"write {"apns":{"pushType":…}}"#),
    (#""message":{"body":"B"},"priority":5"#, #"write {"apns":{"priority":…}}"#),
    (#""variants":[{"name":"a","payload":{}},{"name":"b"}]"#, "variants[0].payload: moved"),
    (
      #""payload":{},"priority":5,"variants":[{"name":"a","payload":{}},{"name":"b"}]"#,
      "payload: moved into the object of a push service, as did priority, variants[0].payload (write"
    ),
  ])
  func oldSpellingNamesTheNewPlace(fields: String, says: String) {
    let job = Array(#"{"id":"a","app":"news","audience":{"segment":"*"},\#(fields)}"#.utf8)
    let error = #expect(throws: JobError.self) { try CampaignJob.parse(job, .any([APNsService()])) }
    expect(error?.description.contains(says), is: true, "\(error?.description ?? "")")
  }

  @Test func languagesVariantsAndTrimChangeTheMessage() throws {
    let campaign = try CampaignJob.parse(
      bytes([
        "message": #"{"title":"Hi {{name|you}}","body":"Everything must go","badge":"+1"}"#,
        "payload": #"{"aps":{"category":"c"}}"#, "trim": #""message.body""#, "uniqueKey": #""push""#,
        "localized": #"{"de":{"body":"Alles muss raus","apns":{"payload":{"aps":{"category":"d"}}}}}"#,
        "variants": #"[{"name":"a"},{"name":"b","message":{"title":null},"localized":{"de":{"title":"Hallo"}}}]"#,
      ]), .any([APNsService()]))
    let content = try #require(campaign.message.content)
    expect(content.badgeStep, is: 1)
    func text(_ variant: Int, _ locale: String, most: Int = 4096) -> String {
      var user = PersonalContent.User(content)
      var sealed: [UInt8] = []
      Array(locale.utf8).withUnsafeBytes { content.writeValues(of: &user, locale: $0, variant: variant, to: &sealed) }
      var payload: [UInt8] = []
      _ = content.write(TargetValues(sealed[...]), id: (1, 2), most: most, to: &payload)
      return String(decoding: payload, as: UTF8.self)
    }
    let rest = { (category: String) in
      #""badge":1,"category":"\#(category)"},"push":"00000000-0000-0001-0000-000000000002"}"#
    }
    expect(text(0, "en"), is: #"{"aps":{"alert":{"title":"Hi you","body":"Everything must go"},"# + rest("c"))
    expect(text(0, "de"), is: #"{"aps":{"alert":{"title":"Hi you","body":"Alles muss raus"},"# + rest("d"))
    expect(text(1, "en"), is: #"{"aps":{"alert":{"body":"Everything must go"},"# + rest("c"))
    expect(text(1, "de").hasPrefix(#"{"aps":{"alert":{"#) && text(1, "de").contains(#""title":"Hallo""#))
    expect(text(1, "en", most: 110).contains("…"))
  }

  @Test func objectOfTheJobIsMergedOverThatOfItsTemplate() throws {
    let template =
      #"{"name":"t","version":1,"message":{"body":"B"},"apns":{"pushType":"alert","payload":{"a":1,"b":1}}}"#
    let job = bytes(["template": template, "apns": #"{"priority":5,"payload":{"b":null}}"#])
    let message = try CampaignJob.parse(job, .any([APNsService()])).message
    expect(String(decoding: message.payload, as: UTF8.self), is: #"{"aps":{"alert":{"body":"B"}},"a":1}"#)
    expect(message.priority, is: 5)
    let alone = try CampaignJob.forSingleDevice(job, token: "aa01", of: "", suffix: "1", for: APNsService())
    expect(try CampaignJob.parse(alone, .any([APNsService()])).message.payload, is: message.payload)
  }

  private func bytes(_ fields: [String: String]) -> [UInt8] {
    Array(job(["payload": ""].merging(fields) { $1 }).utf8)
  }
}
