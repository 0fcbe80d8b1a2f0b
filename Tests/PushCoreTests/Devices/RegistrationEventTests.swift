import APNs
import FCM
import PushCore
import TestKit
import Testing

/// Entries of the registrations list, as producers in any language write them.
struct RegistrationEventTests {
  private static let now = 1_800_000_000_000
  private static let token = "00ff11"

  private func event(_ text: String) throws -> RegistrationEvent {
    let vocabulary = DeviceVocabulary(services: PushServices(standard: APNsService()), apps: ["news"], now: Self.now)
    return try RegistrationEvent(parsing: Array(text.utf8), vocabulary)
  }

  @Test(arguments: ["login", "register", "unregister", "logout"])
  func serviceThatTheAppDoesNotUseIsRefused(operation: String) {
    let event = #"{"op":"\#(operation)","user":"ada","token":"cXl3bTVhQk1SZTJ0d2R5Zw:APA91bF4kE","service":"fcm","#
    let services = PushServices(standard: APNsService(), others: [FCMService()], apps: ["android": [FCMService()]])
    let vocabulary = DeviceVocabulary(services: services, apps: ["news", "android"], now: Self.now)
    let error = #expect(throws: DeviceRowDraft.Problem.self) {
      try RegistrationEvent(parsing: Array((event + #""app":"news"}"#).utf8), vocabulary)
    }
    expect(error?.description, is: "service: app news does not use fcm; it uses apns")
  }

  @Test func everyOperationIsRead() throws {
    let token = try #require(APNsService().token(Self.token))
    var row = DeviceRow(user: "ada", token: token, service: "apns", registeredAt: Self.now)
    expect(try event(#"{"op":"login","user":"ada","token":"00FF11"}"#), is: .init(.login(row), at: Self.now))
    let at = 1_700_000_000_000
    row.registeredAt = at
    row.app = "news"
    row.locale = "de-DE"
    row.attributes = ["plan": "gold", "level": "7"]
    expect(
      try event(
        #"{"op":"register","user":"ada","token":"00ff11","app":"news","locale":"de-DE","plan":"gold","level":7,"gone":null,"at":\#(at)}"#
      ), is: .init(.register(row), at: at))
    expect(
      try event(#"{"op":"unregister","token":"00ff11","at":"2023-11-14T22:13:20Z"}"#),
      is: .init(.unregister(token, service: "apns"), at: at))
    expect(
      try event(#"{"op":"logout","user":"ada","token":"00ff11","at":\#(at)}"#),
      is: .init(.logout(user: "ada", token, service: "apns"), at: at))
    expect(
      try event(#"{"op":"untag","user":"ada","tags":["vip","x"],"at":\#(at)}"#),
      is: .init(.tag(user: "ada", segments: ["vip", "x"], isMember: false), at: at))
    expect(
      try event(#"{"op":"attribute","user":"ada","plan":"gold","age":null,"at":\#(at)}"#),
      is: .init(.attributes(user: "ada", ["plan": "gold", "age": nil]), at: at))
    expect(
      try event(#"{"op":"badge","user":"ada","app":"news","value":0,"at":\#(at)}"#),
      is: .init(.badge(user: "ada", app: "news", value: 0), at: at))
    expect(
      try event(#"{"op":"preference","user":"ada","app":"news","category":"offers","allowed":false,"at":\#(at)}"#),
      is: .init(
        .preference(user: "ada", SuppressionList(app: "news", category: "offers"), isAllowed: false), at: at))
  }

  @Test(arguments: [
    ("[]", "must be a JSON object, not an array"), ("{", "not valid JSON"), ("{}", "op: is missing"),
    (#"{"op":"registr"}"#, "is not one of register, login"), (#"{"op":"register","user":"a"}"#, "token: is missing"),
    (#"{"op":"register","token":"00"}"#, "user: is missing"), (#"{"op":"login","user":"a","token":"x"}"#, "token: not"),
    (#"{"op":"register","user":"a","token":"00","app":"nwes"}"#, "did you mean 'news'?"),
    (#"{"op":"register","user":"a","token":"00","app_version":"5"}"#, "similar to the column appVersion"),
    (#"{"op":"register","user":"a","token":"00","at":1700000000}"#, "are these seconds?"),
    (#"{"op":"register","user":"a","token":"00","at":1800100000000}"#, "more than a day ahead"),
    (#"{"op":"register","user":"a","token":"00","tags":["vip"]}"#, "must be a string or a number"),
    (#"{"op":"tag","user":"a"}"#, "tags: is missing"), (#"{"op":"tag","user":"a","tags":[]}"#, "1 to 100"),
    (#"{"op":"tag","user":"a","tags":["~news"]}"#, "a segment's name is"),
    (#"{"op":"tag","user":"a","tags":["x"],"token":"00"}"#, "'token': unknown field in this event"),
    (#"{"op":"unregister","token":"00","user":"a"}"#, "'user': unknown field in this event"),
    (#"{"op":"attribute","user":"a"}"#, "no attribute is given"),
    (#"{"op":"preference","user":"a","app":"news"}"#, "allowed: is missing"),
    (#"{"op":"badge","user":"a","app":"news"}"#, "value: is missing"),
    (#"{"op":"badge","user":"a","value":1}"#, "app: is missing"),
    (#"{"op":"badge","user":"a","app":"news","value":-1}"#, "'-1' is not a whole number from 0 to 999999999"),
    (#"{"op":"preference","user":"a","app":"news","allowed":"no"}"#, "must be true or false"),
    (#"{"op":"preference","user":"a","allowed":true}"#, "app: is missing"),
  ])
  func problemIsNamed(text: String, says: String) {
    let error = #expect(throws: DeviceRowDraft.Problem.self) { try event(text) }
    expect(error?.description.contains(says), is: true, "\(error?.description ?? "nothing")")
  }

  @Test func eventsWithoutATimeKeepTheirOrder() throws {
    func event(_ user: String, isMember: Bool, at: Int) -> RegistrationEvent {
      RegistrationEvent(.tag(user: user, segments: ["vip"], isMember: isMember), at: at)
    }
    var events = [
      event("ada", isMember: true, at: 5000), event("bob", isMember: true, at: 5000),
      event("ada", isMember: false, at: 4000), event("ada", isMember: false, at: 5000),
      event("ada", isMember: true, at: 5000),
    ]
    let offsets = RegistrationEvent.offsets(of: events, without: 5000)
    expect(offsets, is: [2, 0, 0, 1, 0])
    for index in events.indices where events[index].at == 5000 { events[index].move(to: 6000 - offsets[index]) }
    expect(events.map(\.at), is: [5998, 6000, 4000, 5999, 6000])
  }
}
