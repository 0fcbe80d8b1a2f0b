import Foundation
import PushCore
import TestSupport

/// A random job: fields with values that are mostly right alone, in any combination, and up to three mistakes.
struct RandomJob {
  /// JSON whose members keep their order, so that a mistake can repeat a member.
  indirect enum Tree {
    case object([(name: String, value: Tree)])
    case array([Tree])
    /// A string, number or word in JSON syntax.
    case raw(String)

    static func text(_ text: String) -> Tree {
      var json = JSONWriter()
      json.value(text)
      return .raw(json.text)
    }

    var json: String {
      switch self {
      case .object(let members):
        "{" + members.map { "\(Tree.text($0.name).json):\($0.value.json)" }.joined(separator: ",") + "}"
      case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
      case .raw(let text): text
      }
    }
  }

  private static let id = "the-id-of-this-job"
  private let tree: Tree
  /// The mistakes that were made in the job, for messages.
  let mistakes: [String]

  /// Returns the job with another id of the same length.
  ///
  /// - Parameter id: 18 bytes.
  func text(_ id: String) -> String { tree.json.replacing(Self.id, with: id) }

  init(using seed: inout Seed) {
    var members: [(name: String, value: Tree)] = [("id", .text(Self.id))]
    let app = Self.pick(RandomJobValues.apps, &seed)
    members.append(("app", .text(app)))
    members.append(("audience", Self.audience(&seed)))
    members += Self.content(app, &seed)
    // Some jobs have many fields, most have a few.
    let density = Self.pick([0, 0.03, 0.08, 0.2], &seed)
    for (name, values) in RandomJobValues.fields where Double.random(in: 0..<1, using: &seed) < density {
      members.append((name, .raw(Self.usual(values, &seed))))
    }
    var tree = Tree.object(members)
    var mistakes: [String] = []
    for _ in 0..<Self.pick([0, 0, 0, 1, 1, 2, 3], &seed) { mistakes.append(Self.mistake(in: &tree, &seed)) }
    // A valid id of several jobs would be a conflict, which only the store knows.
    if case .object(var members) = tree {
      for index in members.indices where members[index].name == "id" {
        guard case .raw(let text) = members[index].value, [#""x""#, #""5s""#].contains(text) else { continue }
        members[index].value = .raw(#""no id""#)
      }
      tree = .object(members)
    }
    (self.tree, self.mistakes) = (tree, mistakes)
  }

  private static func pick<Element>(_ elements: [Element], _ seed: inout Seed) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &seed)]
  }

  /// Returns the first value, which is valid, in most cases.
  private static func usual<Element>(_ values: [Element], _ seed: inout Seed) -> Element {
    Int.random(in: 0..<10, using: &seed) < 8 ? values[0] : pick(values, &seed)
  }

  private static func audience(_ seed: inout Seed) -> Tree {
    var members: [(name: String, value: Tree)] = []
    let (name, value) = usual(RandomJobValues.audiences, &seed)
    members.append((name, .raw(value)))
    for (name, values) in RandomJobValues.conditions where Int.random(in: 0..<12, using: &seed) == 0 {
      members.append((name, .raw(usual(values, &seed))))
    }
    return .object(members)
  }

  /// Returns the content: a message, objects of services, a template or variants.
  private static func content(_ app: String, _ seed: inout Seed) -> [(name: String, value: Tree)] {
    func some(_ values: [String]) -> Tree { .raw(usual(values, &seed)) }
    var members: [(name: String, value: Tree)] = []
    switch Int.random(in: 0..<10, using: &seed) {
    case 0: members.append(("template", some(RandomJobValues.templates)))
    case 1:
      members.append(("variants", some(RandomJobValues.variants)))
      if Bool.random(using: &seed) { members.append(("message", some(RandomJobValues.messages))) }
    case 2, 3:
      if app != "android" { members.append(("apns", some(RandomJobValues.apns))) }
      if app != "news" { members.append(("fcm", some(RandomJobValues.fcm))) }
    case 4, 5:
      members.append(("message", some(RandomJobValues.messages)))
      let isForAPNs = app == "android" ? false : app == "news" ? true : Bool.random(using: &seed)
      members.append(isForAPNs ? ("apns", some(RandomJobValues.apns)) : ("fcm", some(RandomJobValues.fcm)))
    default: members.append(("message", some(RandomJobValues.messages)))
    }
    return members
  }

  // MARK: Mistakes

  /// Makes a mistake at a random place.
  ///
  /// - Returns: its description.
  private static func mistake(in tree: inout Tree, _ seed: inout Seed) -> String {
    switch tree {
    case .object(var members) where !members.isEmpty:
      let place = Int.random(in: 0..<members.count, using: &seed)
      // The mistake is one level deeper in half of the cases, and in a sixth of the cases if the value is raw.
      if Int.random(in: 0..<3, using: &seed) > 0, case .raw = members[place].value {
      } else if Bool.random(using: &seed) {
        let text = mistake(in: &members[place].value, &seed)
        tree = .object(members)
        return members[place].name + "." + text
      }
      let name = members[place].name
      let text: String
      switch Int.random(in: 0..<6, using: &seed) {
      case 0:
        members.remove(at: place)
        text = "without \(name)"
      case 1:
        members[place].name = pick([name + "s", name.uppercased(), String(name.dropLast()), " " + name], &seed)
        text = "\(name) is \(members[place].name)"
      case 2:
        members.append((name, .raw(pick(RandomJobValues.strange, &seed))))
        text = "\(name) twice"
      case 3:
        let name = pick(RandomJobValues.strangers, &seed)
        members.insert((name, .raw(pick(RandomJobValues.strange, &seed))), at: place)
        text = "with \(name)"
      default:
        members[place].value = .raw(pick(RandomJobValues.strange, &seed))
        text = "\(name): \(members[place].value.json)"
      }
      tree = .object(members)
      return text
    case .array(var elements) where !elements.isEmpty:
      let place = Int.random(in: 0..<elements.count, using: &seed)
      let text = mistake(in: &elements[place], &seed)
      tree = .array(elements)
      return "[\(place)]." + text
    default:
      tree = .raw(pick(RandomJobValues.strange, &seed))
      return tree.json
    }
  }
}

/// Values of ``RandomJob``, in JSON syntax if not otherwise noted.
enum RandomJobValues {
  /// Names of apps, as text: of Apple devices, Android devices, both, and an unknown one.
  static let apps = ["news", "news", "news", "android", "android", "shop", "shop", "shop", "shop", "nwes"]

  static let audiences: [(name: String, value: String)] = [
    ("segment", #""*""#), ("segment", #""vip""#), ("segment", #""vip & !churned""#), ("segment", #""vip & !churnd""#),
    ("segment", #""vip &""#), ("segment", #""fans""#), ("users", #"["ada","bob"]"#), ("users", "[]"),
    ("users", #"[{"user":"ada","vars":{"price":"3"}},{"user":"bob","vars":{"price":"4"}}]"#), ("users", #"[4711.0]"#),
    ("tokens", #"["aa01aa01aa01aa01"]"#), ("tokens", #"["aa01aa01aa01aa01","no token"]"#), ("campaign", #""earlier""#),
    ("campaign", #""missing""#), ("activity", #""match""#), ("activity", #""none""#), ("channel", #""AAAA""#),
  ]

  static let conditions: [(name: String, values: [String])] = [
    ("where", [#""locale = 'en'""#, #""plan = 'gold' & appVersion >= '5.2'""#, #""locale =""#]),
    ("sample", ["0.1", "1", "0", "2"]), ("limit", ["100", "0", "1.5"]),
    ("devices", [#""newest""#, #""all""#, #""last""#]),
    ("exclude", [#"{"segment":"churned"}"#, #"{"campaign":"earlier"}"#, #"{"campaign":"missing"}"#, "{}"]),
    ("outcome", [#"["accepted"]"#, #""sent""#]), ("opened", ["true"]),
  ]

  static let templates = [#""welcome""#, #""welcome@1""#, #""welcome@9""#, #""absent""#, #""no name!""#]

  static let messages = [
    #"{"body":"Hello"}"#, #"{"title":"Goal","body":"{{name|you}} {{city}}"}"#, #"{"body":"{{price}}"}"#,
    #"{"body":"1:0","badge":"+1","sound":"default"}"#, #"{"data":{"match":"17"}}"#, #"{"sound":"default"}"#,
    #"{"body":"Hello {{ x | default: \"y\" }}"}"#, #"{"body":"Hello {{name"}"#,
    #"{"body":"a","image":"https://a.example/x"}"#,
    #"{"body":"a","data":{"aps":"x"}}"#, "{}", #"{"title":"t","link":"app://x","badge":7}"#,
  ]

  static let apns = [
    #"{"payload":{"aps":{"alert":"hi"}}}"#,
    #"{"payload":{"aps":{"alert":{"title":"{{name|x}}","body":"b"},"sound":"s"}}}"#,
    #"{"payload":{"aps":{"content-available":1}},"pushType":"background","priority":5}"#,
    #"{"payload":{"aps":{"content-available":1}},"pushType":"background","priority":10}"#,
    #"{"payload":{"aps":{}}}"#, #"{"payload":{"aps":{"alert":"hi"}},"priority":1}"#,
    #"{"pushType":"voip","payload":{}}"#,
    #"{"payload":{"aps":{"timestamp":"now","event":"update","content-state":{},"stale-date":"2h"}},"pushType":"liveactivity"}"#,
    #"{"payload":{"aps":{"event":"end","content-state":{},"dismissal-date":"5h"}},"pushType":"liveactivity"}"#,
    #"{"payload":{"message":{"token":"x"}}}"#, #"{"payload":{"aps":{"content-changed":true}},"pushType":"widgets"}"#,
    "{}",
  ]

  static let fcm = [
    #"{"message":{"notification":{"title":"t","body":"{{name|x}}"}}}"#,
    #"{"message":{"data":{"a":"1"}},"pushType":"background"}"#,
    #"{"message":{"data":{"a":1}}}"#, #"{"message":{"token":"x","notification":{"body":"b"}}}"#, #"{"message":{}}"#,
    #"{"message":{"android":{"ttl":"3600s","notification":{"channel_id":"goals"}}}}"#, "{}",
    #"{"pushType":"background"}"#,
  ]

  static let variants = [
    #"[{"name":"a","message":{"body":"one"}},{"name":"b","message":{"body":"two"},"weight":2}]"#,
    #"[{"name":"a","message":{"body":"one"}},{"name":"b","message":{"body":"one"}}]"#,
    #"[{"name":"a","message":{"body":"one"}}]"#,
    #"[{"name":"a","template":"welcome"},{"name":"b","message":{"body":"x"}}]"#,
    #"[{"name":"a","message":{"body":"one"}},{"name":"a","message":{"body":"two"}}]"#,
    #"[{"name":"a","apns":{"payload":{"aps":{"alert":"x"}}}},{"name":"b","message":{"body":"x"},"localized":{"de":{"body":"y"}}}]"#,
  ]

  /// The other fields of a job.
  static let fields: [(name: String, values: [String])] = [
    ("services", [#"["apns"]"#, #"["fcm"]"#, #"["fcm","apns"]"#, #"["pigeon"]"#, "[]"]),
    ("urgency", [#""high""#, #""low""#, #""urgent""#]),
    ("expiration", ["0", #""4h""#, #""6s""#, time(hours: 3), time(hours: -3)]),
    ("collapseId", [#""story""#, #""""#, "\"" + String(repeating: "x", count: 65) + "\""]),
    ("lane", [#""bulk""#, #""urgent""#, #""fast""#]),
    (
      "sendAt",
      [
        time(hours: 1), time(hours: 26), time(hours: 9000), time(hours: -0.5), time(hours: -2), wall(hours: 30),
        wall(hours: -60),
      ]
    ),
    ("rate", ["100", "0.5", "0", "1e7"]), ("spread", [#""1h""#, #""400d""#]),
    ("finishBy", [time(hours: 5), time(hours: -1), time(hours: 30)]),
    ("results", [#""all""#, #""none""#]), ("ambiguity", [#""skip""#, #""drop""#]),
    ("ttl", [#""1d""#, #""0s""#, #""4""#]),
    ("category", [#""offers""#, #""no name!""#]), ("transactional", ["true", "false"]), ("control", ["0.1", "1", "0"]),
    (
      "stages",
      [
        #"[{"share":0.1}]"#,
        #"[{"users":["ada"],"wait":"5m","approval":true},{"share":0.2,"wait":"2h","maxFailures":0.02}]"#,
        #"[{"share":0.2,"winner":{"by":"opened","minimum":10}}]"#, #"[{"share":0.6},{"share":0.6}]"#,
        #"[{"wait":"1h"}]"#,
        #"[{"share":0.1,"wait":"7d"}]"#, #"[{"share":0.1,"wait":"8d"}]"#, "[]",
      ]
    ),
    ("submittedBy", [#""ada""#, #""""#]),
    ("localized", [#"{"de":{"body":"Hallo"}}"#, #"{"deutsch":{"body":"Hallo"}}"#, #"{"de":{"bdy":"x"}}"#]),
    ("trim", [#""message.body""#, #""message.title""#, #""apns.payload.aps.alert""#, #""nowhere""#]),
    ("uniqueKey", [#""push""#, #""aps""#, #""from""#]), ("campaignKey", [#""campaign""#, #""message_type""#]),
    ("vars", ["true", "false"]),
    ("also", [#"["widgets"]"#, #"["widgets","controls"]"#, #"["voip"]"#, "[]"]),
    ("localTime", ["true", "false", #"{"attribute":"preferredHour"}"#, "{}"]),
    ("defaultTimezone", [#""Europe/Berlin""#, #""PST""#]),
    ("late", [#""2h""#, #""0s""#, #""-1s""#]),
    (
      "quietHours",
      [
        #"{"from":"22:00","to":"08:00"}"#, #"{"from":"22:00","to":"22:00"}"#,
        #"{"from":"22:00","to":"08:00","then":"drop"}"#,
      ]
    ),
    ("maxDuration", [#""2h""#, #""6s""#, #""400d""#]),
    (
      "repeat",
      [
        #"{"cron":"0 9 * * *"}"#, #"{"cron":"0 9 * * 1","zone":"Europe/Berlin","count":3,"skipIfRunning":true}"#,
        #"{"cron":"0 9 31 2 *"}"#,
        #"{"cron":"often"}"#, #"{"cron":"0 9 * * *","end":"2020-01-01T00:00:00Z"}"#,
      ]
    ),
  ]

  /// Names that no job has, or that had a meaning once.
  static let strangers = [
    "aps", "payload", "pushType", "priority", "notification", "data", "token", "to", "registration_ids", "beside",
    "canary",
    "include_player_ids", "comment", "body", "gateway", "android",
  ]

  /// Values of wrong types and at bounds.
  static let strange = [
    "null", "true", "0", "-1", "1.5", "1e400", "9007199254740993", #""""#, #""x""#, #""5s""#, "[]", "{}", "[[]]",
    #"[null]"#,
    #"{"a":{"b":1}}"#, #""\u0000""#, #""\u200b""#, #""{{a b}}""#, #""2030-01-01T00:00:00Z""#, #""2030-01-01T00:00:00""#,
    "[1,1]",
  ]

  private static let now = Date.now

  private static func time(hours: Double) -> String {
    "\"" + Timestamp.format(milliseconds: Int((now.timeIntervalSince1970 + hours * 3600) * 1000)) + "\""
  }

  private static func wall(hours: Double) -> String {
    "\"" + WallTime.format(Int(now.timeIntervalSince1970 + hours * 3600)) + "\""
  }
}
