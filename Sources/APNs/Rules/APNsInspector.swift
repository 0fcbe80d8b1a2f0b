internal import PushCore
internal import ServiceTools

/// Checks one push against the rules for APNs (``APNsRule``). Pure.
struct APNsInspector: PushInspector {
  typealias Rule = APNsRule

  let draft: APNsDraft
  let now: Int?
  var violations = Violations()

  init(_ draft: APNsDraft, now: Int?) { (self.draft, self.now) = (draft, now) }

  /// Returns a finding for every rule that is broken by one push of a job, or by the combination of its pushes.
  ///
  /// - Parameter now: UNIX seconds; `nil` omits rules that depend on the time.
  static func findings(ofJob root: JSONValue, in bytes: [UInt8], app: AppTraits?, now: Int?) -> [Finding] {
    findings(in: APNsDraft.all(job: root, in: bytes, app: app), now: now)
      + repeatedVariants(root, bytes, for: APNsService())
  }

  /// Path of the push type in findings.
  private var typePath: String { draft.path.isEmpty ? "pushType" : "apns.pushType" }

  // MARK: Headers

  mutating func checkFields() {
    checkHeaders()
    checkTopic()
  }

  private mutating func checkHeaders() {
    let type = draft.pushType
    if type == .background, draft.priority == 10 {
      report(.backgroundPriority, draft.priorityPath, "APNs does not allow 10 for push type background", hint: "use 5")
    }
    if type == .liveactivity, draft.priority == 1 {
      report(
        .activityPriority, draft.priorityPath, "Apple does not document priority 1 for Live Activities",
        hint: "use 5, or 10 if urgent")
    }
    if let id = draft.collapseID, id.utf8.count > PushHeaders.maximumCollapseID {
      let size = id.utf8.count
      let limit = PushHeaders.maximumCollapseID
      report(
        .collapseSize, "collapseId", "\(size) bytes, which is \(size - limit) over the \(limit) that APNs allows",
        hint: "shorten it; the limit counts bytes of UTF-8, not characters")
    }
    if draft.destination == .channel { checkBroadcast() }
    checkExpiration()
  }

  private mutating func checkBroadcast() {
    let type = draft.pushType
    if type != .liveactivity {
      report(
        .broadcastType, typePath, "a channel accepts only liveactivity, not \(type.rawValue)", hint: "use liveactivity")
    }
    if draft.collapseID != nil {
      report(.broadcastCollapse, "collapseId", "a broadcast can't have a collapse id", hint: "omit it")
    }
    if draft.expiration != .immediate {
      report(
        .broadcastStorage, "expiration",
        "a channel without message storage refuses it, and other channels store the message for at most 8 hours",
        hint: "use 0, which every channel accepts; `carillon channel show` prints whether a channel stores messages")
    }
  }

  /// Longest time in days for which APNs stores a push.
  private static let storedDays = 30
  /// Maximum number of seconds that counts as "a few seconds" for a call.
  private static let callSeconds = 60

  private mutating func checkExpiration() {
    checkExpiration(storedBy: "APNs", days: Self.storedDays)
    switch draft.pushType {
    case .voip where lifetime.map { $0 > Self.callSeconds } ?? (draft.expiration == .unset):
      report(.deliveryHabit, "expiration", "a late call is worse than no call", hint: "use 0 or a few seconds")
    case .pushtotalk:
      if draft.expiration != .immediate {
        report(.deliveryHabit, "expiration", "late audio is useless", hint: "use 0")
      }
      if draft.priority != 10 {
        report(.deliveryHabit, draft.priorityPath, "push to talk needs priority 10", hint: "use 10")
      }
    default: break
    }
  }

  // MARK: Topic

  private mutating func checkTopic() {
    guard let app = draft.app else { return }
    let type = draft.pushType
    guard draft.destination == .devices else { return checkBundle(type.bundle(of: app.topic), app) }
    let topic = app.topic(for: type)
    if app.certificateTopics != nil, type.needsToken {
      report(
        .tokenOnly, typePath, "\(type.rawValue) needs a provider token, and the app has a certificate",
        hint: "give the app a signing key: apps.NAME.apns.token")
    } else {
      checkCertificate(of: app, for: topic)
    }
    if app.kind == .pass || app.kind == .website, type != .alert {
      report(
        .topicType, typePath,
        "the topic \(Excerpt.quoted(app.topic)) belongs to a pass or a website, which accepts only alert pushes",
        hint: "omit pushType")
    }
    if type == .mdm, app.kind != .management {
      report(
        .managementTopic, typePath, "the app's topic \(Excerpt.quoted(app.topic)) is not an MDM certificate's UID",
        hint: "use a topic that begins with com.apple.mgmt.")
    }
    guard topic.hasSuffix(type.topicSuffix) else {
      report(
        .topicSuffix, "topic", "\(Excerpt.quoted(topic)) is not a topic for push type \(type.rawValue)",
        hint: "use a topic that ends with \(type.topicSuffix)")
      return
    }
    checkForeignSuffix(of: app.topic)
  }

  /// Checks the bundle id. A broadcast's path contains the bundle id for every push type.
  private mutating func checkBundle(_ bundle: String, _ app: AppTraits) {
    checkCertificate(of: app, for: bundle)
    checkForeignSuffix(of: bundle)
  }

  private mutating func checkCertificate(of app: AppTraits, for topic: String) {
    guard let topics = app.certificateTopics, !topics.isEmpty, !topics.contains(topic) else { return }
    report(
      .certificateTopic, typePath, "the app's certificate is not for \(Excerpt.quoted(topic))",
      hint: "the certificate is for " + topics.sorted().joined(separator: ", "))
  }

  private mutating func checkForeignSuffix(of topic: String) {
    let type = draft.pushType
    let owner = PushType.allCases.first { other in
      other != type && !other.topicSuffix.isEmpty && topic.hasSuffix(other.topicSuffix)
        // The suffix of this push type is correct, even if it ends with the suffix of another type.
        && !(type.topicSuffix.hasSuffix(other.topicSuffix) && topic.hasSuffix(type.topicSuffix))
    }
    guard let owner else { return }
    let message = "the app's topic \(Excerpt.quoted(topic)) has the suffix of push type \(owner.rawValue)"
    // A bundle id may end with `.voip` or `.complication`, but not with any other suffix.
    if owner == .voip || owner == .complication {
      report(
        .topicLooksSuffixed, typePath, message,
        hint: "configure the bundle id: Carillon adds the suffix; ignore this warning if the topic is the bundle id")
    } else {
      report(
        .topicSuffix, typePath, "\(message), not of \(type.rawValue)",
        hint: "configure the bundle id as the app's topic: Carillon adds the suffix of the push type")
    }
  }
}
