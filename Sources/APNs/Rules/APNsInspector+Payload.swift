internal import PushCore
internal import ServiceTools

/// Rules for the payload as a whole, and the requirements of each push type.
extension APNsInspector {
  mutating func checkPayload() {
    let what = draft.destination == .channel ? "a broadcast" : "push type \(draft.pushType.rawValue)"
    checkSize(allowedBy: "APNs allows for \(what)", hint: "shorten it, or send a reference that the app fetches")
    guard case .object(let members) = draft.payload.value.kind else {
      report(.apsType, draft.path, "must be a JSON object, not \(draft.payload.value.kindName)")
      return
    }
    checkOutside(members)
    switch draft.app?.kind {
    case .pass:
      if !members.isEmpty {
        report(.walletPayload, draft.path, "the payload for a pass must be {}", hint: "Wallet fetches the pass itself")
      }
      return
    case .website: checkWebsite(members)
    default: break
    }
    if readsAPS, let request = ForeignRequest(members) {
      report(
        .foreignRequest, path(request.member),
        "makes the payload a request of \(request.product): devices show nothing",
        hint: request.hint)
      return
    }
    let aps = members.value("aps")
    if let aps {
      guard case .object(let keys) = aps.kind else {
        report(.apsType, path("aps"), "must be a JSON object, not \(aps.kindName)")
        return
      }
      checkType(keys, beside: members)
      checkKeys(keys)
      checkShowsSomething(keys)
    } else {
      checkType([], beside: members)
      checkShowsSomething([])
    }
  }

  // MARK: Push types

  private mutating func checkType(_ aps: [JSONValue.Member], beside members: [JSONValue.Member]) {
    switch draft.pushType {
    case .alert: if draft.app?.kind != .website { checkAlert(aps) }
    case .background: checkBackground(aps)
    case .controls, .widgets: checkContentChanged(aps)
    case .liveactivity: checkActivity(aps)
    case .mdm: checkManagement(members)
    case .voip, .complication, .fileprovider, .location, .pushtotalk: break
    }
    for member in aps where !isFull && !isOfType(member.name) {
      report(
        .keyOfOtherType, path("aps.\(member.name)"), "is ignored with push type \(draft.pushType.rawValue)",
        hint: member.name == "url-args"
          ? "only Safari 15 and before read it; since Safari 16 (2022) websites use Web Push"
          : "send it as \(member.name == "content-changed" ? "controls or widgets" : "liveactivity"), or leave it out")
    }
  }

  private func isOfType(_ key: String) -> Bool {
    switch key {
    case "url-args": draft.app?.kind == .website
    case "content-changed": draft.pushType == .controls || draft.pushType == .widgets
    default: draft.pushType == .liveactivity || !APSKey.activityOnly.contains(key)
    }
  }

  private static let visible = ["alert", "badge", "sound"]

  private mutating func checkAlert(_ aps: [JSONValue.Member]) {
    guard !Self.isVisible(aps) else {
      if aps.value("mutable-content") != nil, aps.value("alert") == nil {
        report(
          .mutableWithoutAlert, path("aps.mutable-content"), "the system does not run the extension without an alert",
          hint: "add aps.alert, or omit mutable-content")
      }
      return
    }
    if aps.isSet("content-available") {
      report(
        .alertSilent, path("aps"),
        "has content-available, but no alert, badge or sound: APNs does not deliver it with push type alert",
        hint: "send the push with pushType background and priority 5, or add an alert, a badge or a sound")
    }
  }

  /// Refuses an alert without a visible text, a sound and a badge. An earlier check reports misspelt keys.
  private mutating func checkShowsSomething(_ aps: [JSONValue.Member]) {
    guard draft.pushType == .alert, draft.app?.kind != .website, !aps.isSet("content-available"), !Self.isVisible(aps)
    else {
      return
    }
    report(.alertEmpty, path("aps"), "has no alert, badge or sound: devices show nothing", hint: "add aps.alert")
  }

  /// Returns whether `aps` shows a text, plays a sound or sets a badge.
  private static func isVisible(_ aps: [JSONValue.Member]) -> Bool {
    visible.contains { aps.value($0).map(isPerceptible) ?? false }
  }

  /// Returns whether a value of `alert`, `badge` or `sound` has an effect. A blank text and `null` have none.
  private static func isPerceptible(_ value: JSONValue) -> Bool {
    switch value.kind {
    case .null: false
    case .string(let text): !Identifier.isBlank(text)
    case .object(let members): members.contains { isPerceptible($0.value) }
    case .array, .number, .bool: true
    }
  }

  private mutating func checkBackground(_ aps: [JSONValue.Member]) {
    for key in Self.visible where aps.value(key) != nil {
      report(
        .backgroundVisible, path("aps.\(key)"), "is not allowed in a background push: APNs may drop it",
        hint: "send the push as pushType alert, or omit \(key)")
    }
    if !aps.isSet("content-available") {
      report(
        .backgroundSilent, path("aps"), "a background push needs content-available",
        hint: "add \"content-available\": 1 to aps")
    }
  }

  private mutating func checkContentChanged(_ aps: [JSONValue.Member]) {
    guard aps.value("content-changed") == nil else { return }
    report(
      .contentChanged, path("aps"), "a \(draft.pushType.rawValue) push needs content-changed",
      hint: "the payload is {\"aps\": {\"content-changed\": true}}")
  }

  private mutating func checkManagement(_ members: [JSONValue.Member]) {
    if case .string(let magic)? = members.value("mdm")?.kind, !magic.isEmpty {
      if members.value("aps") != nil {
        report(.managementPayload, path("aps"), "an MDM push has no aps", hint: "omit it")
      }
    } else {
      report(
        .managementPayload, draft.path, "an MDM push needs mdm, a string",
        hint: "the payload is {\"mdm\": \"PushMagic of the device\"}")
    }
  }

  private mutating func checkWebsite(_ members: [JSONValue.Member]) {
    guard case .object(let aps)? = members.value("aps")?.kind else {
      report(.websitePayload, draft.path, "a Safari push needs aps with alert and url-args")
      return
    }
    if case .object(let alert)? = aps.value("alert")?.kind {
      for key in ["title", "body"] where alert.value(key) == nil {
        report(.websitePayload, path("aps.alert"), "Safari needs \(key)", hint: "add aps.alert.\(key)")
      }
    } else {
      report(.websitePayload, path("aps.alert"), "must be an object with title and body")
    }
    if aps.value("url-args") == nil {
      report(
        .websitePayload, path("aps.url-args"), "is missing",
        hint: "add an array with a string for each placeholder of the site's URL format, or an empty array")
    }
  }

  // MARK: Outside `aps`

  /// Whether the system of the device reads `aps` in a push of this type. If not, the whole payload belongs to the app.
  var readsAPS: Bool {
    switch draft.pushType {
    case .alert, .background, .liveactivity, .controls, .widgets: true
    case .voip, .complication, .fileprovider, .mdm, .location, .pushtotalk: false
    }
  }

  private mutating func checkOutside(_ members: [JSONValue.Member]) {
    for member in members where !isFull {
      if member.name.lowercased().hasPrefix("apns-") {
        report(
          .headerInside, path(member.name), "is the name of a header: APNs ignores it in the payload",
          hint: "use the field of the job, or the option of carillon send")
      } else if readsAPS, let meant = APSKey.misplaced(member.name) {
        report(
          .apsOutside, path(member.name), "is outside aps, where only the app reads it",
          hint: "did you mean aps.\(meant)?")
      } else if readsAPS, APSKey.ambiguous.contains(member.name) {
        report(
          .apsBeside, path(member.name), "is outside aps, where only the app reads it",
          hint: "did you mean aps.\(member.name)?")
      } else if member.name != "aps", member.name.lowercased() == "aps" {
        report(.apsOutside, path(member.name), "APNs reads only the lower-case key", hint: "did you mean aps?")
      }
      reportNulls(in: member.value, path: path(Excerpt.bare(member.name)))
    }
  }

  private mutating func reportNulls(in value: JSONValue, path: String) {
    switch value.kind {
    case .null: report(.null, path, "is null", hint: "omit the key")
    case .object(let members):
      for member in members where !isFull {
        reportNulls(in: member.value, path: "\(path).\(Excerpt.bare(member.name))")
      }
    case .array(let elements):
      for (index, element) in elements.enumerated() where !isFull {
        reportNulls(in: element, path: "\(path)[\(index)]")
      }
    case .string, .number, .bool: break
    }
  }
}

extension [JSONValue.Member] {
  /// Returns whether a flag is set: by 1, as Apple defines it, or by `true`, which many senders write.
  func isSet(_ name: String) -> Bool {
    switch value(name)?.kind {
    case .number(let text): Double(text) == 1
    case .bool(let isSet): isSet
    default: false
    }
  }
}
