import Foundation
import TestKit
import TestSupport
import Testing

/// `campaign preview` and `lint` for personalised pushes.
struct PreviewTests {
  @Test func previewIsWhatTheUsersDevicesAreSent() async throws {
    let world = try await CarillonWorld()
    let devices = #"""
      user,token,app,locale,name
      ada,aa01,news,de-AT,"Ada ""A."""
      ada,aa02,news,en,"Ada ""A."""
      bob,aa03,news,,
      """#
    _ = try await world.succeed("devices", "import", "-", "--format", "csv", input: devices)
    let job = #"""
      {"id":"c1","app":"news","audience":{"users":["ada",{"user":"bob","vars":{"price":1299.5}}]},
       "apns":{"payload":{"aps":{"alert":"Hi {{name|you}}: {{price:number.2|free}}"}}},
       "localized":{"de":{"apns":{"payload":{"aps":{"alert":"Hallo {{name}}"}}}}},"uniqueKey":"push"}
      """#
    let ada = try JSONObject(await world.succeed("campaign", "preview", "-", "--user", "ada", "--json", input: job))
    expect(ada.text("campaign") == "c1" && ada.bool("fixed") == false)
    let pushes = try #require(ada.objects("pushes"))
    let alerts = pushes.map { $0.object("payload")?.object("aps")?.text("alert") }
    expect(alerts.count == 2 && Set(alerts) == [#"Hallo Ada "A.""#, #"Hi Ada "A.": free"#])
    expect(
      pushes.allSatisfy { $0.object("headers")?.text("apns-id") == $0.object("payload")?.text("push") },
      "\(pushes)")
    let text = try await world.succeed("campaign", "preview", "-", "--user", "bob", input: job)
    expect(
      text.contains(#"> {"aps":{"alert":"Hi you: 1299.50"},"push":""#) && text.contains("> apns-push-type: alert"))
    // The same content as a template in the store.
    let template =
      #"{"apns":{"payload":{"aps":{"alert":"Hi {{name|you}}: {{price:number.2|free}}"}}},"uniqueKey":"push"}"#
    expect(try await world.succeed("template", "put", "hello", "-", input: template), is: "hello@1\n")
    let named = job.replacing(#/"apns".*/#.dotMatchesNewlines(), with: #""template":"hello@1"}"#)
    let same = try await world.succeed("campaign", "preview", "-", "--user", "bob", input: named)
    expect(same, is: text)
    expect(try await world.succeed("template", "list", "--json").contains(#"{"name":"hello","version":1}"#))
    expect(try await world.succeed("template", "show", "hello"), is: template + "\n")
    expect(try await world.succeed("template", "remove", "hello"), is: "hello removed\n")
    expect(try await world.run("campaign", "submit", "-", input: named).exit, is: .status(65))
    let eve = try await world.run("campaign", "preview", "-", "--user", "eve", input: job)
    expect(eve.exit == .status(1) && eve.standardOutput.contains("has no device"))
    let unknown = try await world.run("campaign", "preview", "c2", "--user", "ada")
    expect(unknown.exit, is: .status(1))
  }

  @Test func datesOfALiveActivityAreShownAsTheyWouldBeSentNow() async throws {
    let world = try await CarillonWorld()
    let devices = "user,token,app,kind\nada,aa01,news,liveactivity-start\n"
    _ = try await world.succeed("devices", "import", "-", "--format", "csv", input: devices)
    let job = #"""
      {"id":"c1","app":"news","audience":{"users":["ada"]},"apns":{"payload":{"aps":{"event":"start",
       "attributes-type":"Match","attributes":{},"content-state":{},"alert":{"title":"t"},"stale-date":"2h"}},"pushType":"liveactivity"}}
      """#
    let before = Int(Date.now.timeIntervalSince1970)
    let ada = try JSONObject(await world.succeed("campaign", "preview", "-", "--user", "ada", "--json", input: job))
    let aps = try #require(ada.objects("pushes")?.first?.object("payload")?.object("aps"))
    let sent = try #require(aps.number("timestamp"))
    expect(before <= sent && sent <= Int(Date.now.timeIntervalSince1970))
    expect(aps.number("stale-date"), is: sent + 7200)
  }
}
