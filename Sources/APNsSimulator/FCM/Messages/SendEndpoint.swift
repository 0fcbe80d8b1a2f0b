/// The only method of FCM that the simulator has: `POST /v1/projects/{project}/messages:send`. The order of its checks
/// is: path, authorization, body, quota of the project, target. Google documents no order.
struct SendEndpoint: GoogleEndpoint {
  let state: FCMState
  let hasFaults = true

  func answer(_ request: GoogleRequest, by loop: LoopState) -> GoogleAnswer {
    let knobs = loop.knobs.fcm
    loop.tally.fcm.received += 1
    loop.tally.fcm.bodyBytes += request.bodyCount
    var target = ""
    do throws(Rejection) {
      let project = try Self.project(of: request)
      try authorize(request, for: project, by: loop)
      let message = try Self.message(of: request, in: project, state, by: loop)
      target = message.target.registration ?? ""
      try admit(message, in: project, by: loop)
      loop.tally.fcm.accepted += 1
      let id = message.isOnlyValidated ? "fake_message_id" : deliver(message, by: loop)
      if message.isOnlyValidated { loop.tally.fcm.validated += 1 }
      let json = JSONTree.members(["name": .string("projects/\(project)/messages/\(id)")]).pretty
      return GoogleAnswer(status: 200, body: knobs.acceptedBodyForm.apply(to: json, html: []), token: target)
    } catch {
      loop.tally.fcm.errors[error.error.word, default: 0] += 1
      return Self.answer(error.error, token: target, by: loop)
    }
  }

  /// An error that ends the checks.
  private struct Rejection: Error {
    var error: FCMError
    init(_ error: FCMError) { self.error = error }
  }

  private static func answer(_ error: FCMError, token: String, by loop: LoopState) -> GoogleAnswer {
    var answer = GoogleAnswer(status: error.code, body: error.body(by: loop.knobs.fcm), token: token)
    if error.isHTML { answer.contentType = "text/html; charset=UTF-8" }
    if error.code == 401 {
      answer.headers.append(("www-authenticate", "Bearer realm=\"https://accounts.google.com/\""))
    }
    if error.retryAfterSeconds > 0 {
      let date = HTTPDate.text(loop.googleTime + Int64(error.retryAfterSeconds))
      answer.headers.append(("retry-after", error.retryAfterIsDate ? date : String(error.retryAfterSeconds)))
    }
    return answer
  }

  // MARK: Path and authorization

  private static func project(of request: GoogleRequest) throws(Rejection) -> String {
    let parts = request.resource.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
      Substring($0)
    }
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "projects", !parts[3].isEmpty,
      parts[4] == "messages:send"
    else { throw Rejection(.unknownPath) }
    guard request.method == "POST" else { throw Rejection(.wrongMethod) }
    return String(parts[3])
  }

  private func authorize(_ request: GoogleRequest, for project: String, by loop: LoopState) throws(Rejection) {
    let parts = (request.authorization ?? "").utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
    guard parts.count == 2, Substring(parts[0]).lowercased() == "bearer" else { throw Rejection(.credentialsMissing) }
    guard let grant = state.tokens.grant(of: String(Substring(parts[1]))) else { throw Rejection(.accessTokenInvalid) }
    guard grant.expiresAt > loop.googleTime else { throw Rejection(.accessTokenExpired) }
    guard grant.hasScope else { throw Rejection(.scopeMissing) }
    guard state.accounts.contains(where: { $0.projectID == project }) else { throw Rejection(.unknownProject) }
    let account = state.accounts[grant.account]
    guard account.projectID == project, account.maySend else { throw Rejection(.permissionDenied(project)) }
    if loop.knobs.fcm.isDisabled { throw Rejection(.disabled(project)) }
  }

  // MARK: Messages

  /// Reads and checks the message. A rejection counts towards the project's quota.
  private static func message(
    of request: GoogleRequest, in project: String, _ state: FCMState, by loop: LoopState
  ) throws(Rejection) -> FCMMessage {
    let type = request.contentType?.prefix { $0 != ";" }.lowercased()
    do {
      guard type == "application/json" else {
        throw FCMMessage.Refused(
          error: .types([
            .init(field: "", description: "Invalid JSON payload received. Unexpected content type \(type ?? "(none)").")
          ]))
      }
      guard request.bodyCount == request.body.count else {
        throw FCMMessage.Refused(
          error: .types([.init(field: "", description: "Request payload size exceeds the limit.")]))
      }
      return try FCMMessage(request.body, by: loop.knobs.fcm)
    } catch {
      _ = take(project, state, by: loop)
      guard let refused = error as? FCMMessage.Refused else { throw Rejection(.internal) }
      throw Rejection(refused.error)
    }
  }

  private static func take(_ project: String, _ state: FCMState, by loop: LoopState) -> Bool {
    let knobs = loop.knobs.fcm
    return state.quota.take(
      project, limit: knobs.messagesPerMinute, length: UInt64(knobs.quotaSeconds) * 1000, now: LoopState.milliseconds)
  }

  /// Checks the quotas and the target, and throws an injected failure that is due.
  private func admit(_ message: FCMMessage, in project: String, by loop: LoopState) throws(Rejection) {
    let knobs = loop.knobs.fcm
    guard Self.take(project, state, by: loop) else {
      throw Rejection(
        .projectQuota(project, limit: knobs.messagesPerMinute, retryAfterSeconds: knobs.quotaRetryAfterSeconds))
    }
    if let registration = message.target.registration {
      try check(registration, message, in: project, by: loop)
    }
    guard let failure = loop.nextFCMFailure(for: message.target.registration ?? "") else { return }
    if failure.delivers, !message.isOnlyValidated { _ = deliver(message, by: loop) }
    let error = FCMError.injected(failure, project: project, by: knobs)
    if error.code >= 500 || error.code == 429 { state.quota.giveBack(project) }
    throw Rejection(error)
  }

  private func check(
    _ registration: String, _ message: FCMMessage, in project: String, by loop: LoopState
  ) throws(Rejection) {
    let knobs = loop.knobs.fcm
    let record = state.devices.record(of: registration)
    switch message.target {
    case .token(let token): if !FCMMessage.isToken(token) { throw Rejection(.malformedToken(knobs)) }
    // Observed at FCM: a typo in an installation id gets the same answer as an uninstalled app.
    case .fid(let fid): if record == nil, !FCMMessage.isInstallationID(fid) { throw Rejection(.unregistered(knobs)) }
    case .topic, .condition: return
    }
    switch record?.state {
    case nil:
      switch knobs.unknownTokens {
      case .accept: break
      case .unregistered: throw Rejection(.unregistered(knobs))
      case .malformed: throw Rejection(.malformedToken(knobs))
      }
    case .registered, .uninstalled: break
    case .unregistered: throw Rejection(.unregistered(knobs))
    case .malformed: throw Rejection(.malformedToken(knobs))
    case .otherProject: throw Rejection(.senderMismatch)
    case .thirdPartyAuth: throw Rejection(.thirdPartyAuth)
    }
    if let only = record?.project, only != project { throw Rejection(.senderMismatch) }
    if let package = record?.package, let wanted = message.restrictedPackage, wanted != package {
      throw Rejection(
        .invalid(
          "The registration token does not match the restricted package name.",
          field: "message.android.restricted_package_name"))
    }
    let isAllowed = state.devices.admit(
      registration, perMinute: knobs.deviceMessagesPerMinute, perHour: knobs.deviceMessagesPerHour,
      now: LoopState.milliseconds)
    if !isAllowed {
      state.quota.giveBack(project)
      throw Rejection(.deviceQuota)
    }
  }

  /// Records an accepted message and returns its identifier, a decimal number.
  private func deliver(_ message: FCMMessage, by loop: LoopState) -> String {
    if let registration = message.target.registration {
      if loop.knobs.fcm.tracksDeliveries {
        state.devices.deliver(message, to: registration, now: LoopState.milliseconds)
      } else {
        state.devices.markUninstalled(of: registration)
      }
    }
    // Sixteen digits, as in captured answers of FCM.
    return String(1_000_000_000_000_000 + loop.generator.next() % 9_000_000_000_000_000)
  }
}

extension LoopState {
  /// Returns the injected failure of the next acceptable message, if any.
  func nextFCMFailure(for registration: String) -> FCMKnobs.Failure? {
    let failures = knobs.fcm.failures
    if failures.isEmpty { return nil }
    if shares.fcmFailures.count != failures.count {
      shares.fcmFailures = Array(repeating: EvenShare(), count: failures.count)
    }
    var due: FCMKnobs.Failure?
    for (index, failure) in failures.enumerated() where registration.hasPrefix(failure.tokenPrefix) {
      if due == nil {
        if shares.fcmFailures[index].isDue(failure.share) { due = failure }
      } else {
        shares.fcmFailures[index].postpone(failure.share)
      }
    }
    return due
  }
}
