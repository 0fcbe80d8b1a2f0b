import PushTransport
import APNs
import APNsSimulator
import PushCore
import Testing

/// A row of the table in `Tests/Pages/reasons.md`: an answer of APNs and all its consequences.
struct ReasonRow: Sendable, CustomTestStringConvertible {
  /// The kind of credential that an app uses with APNs.
  enum Auth: String, CaseIterable, Sendable {
    case token, certificate
  }

  /// Effect on the target in the ledger.
  enum Disposition: Sendable, Equatable {
    /// The target has ended.
    case final
    /// The target was sent again immediately, and then accepted.
    case resent
    /// The target waits for its next attempt.
    case waits(Wait)
    /// The target waits until an operator has repaired the credential, the job or the app. No attempt is counted.
    case held
    /// The target waits until the campaign is resumed. No attempt is counted, and the device is unchanged.
    case spared
  }

  /// Length of the wait, by the names of the configuration.
  enum Wait: String, Sendable {
    case firstServerError = "retry.firstServerError"
    case serverError = "retry.serverError"
    case tooManyRequests = "retry.tooManyRequests"
    case retryAfter = "Retry-After"
  }

  /// Effect on the device.
  enum Device: String, Sendable {
    case kept = ""
    /// APNs reported the device as gone, but it has registered again since.
    case spared = "keeps the device, which registered later"
    case pruned = "prunes the device"
    case quarantined = "quarantines the device"
  }

  /// Effect on the credential.
  enum Credential: Sendable, Equatable {
    case kept
    /// Another provider token was made, outside of its regular times.
    case mintedOnce
    case stopped(Reason)
    /// Stopped by an answer without a known reason.
    case stoppedBySomethingUnknown
  }

  /// Effect on the connection.
  enum Connection: Sendable {
    case kept, replaced
    /// The connection is kept, and the repeated push uses the connection for suspects.
    case another
    /// No connection was established.
    case refused
  }

  /// Effect on the campaign.
  enum Campaign: Sendable, Equatable {
    case goesOn
    /// The campaign is paused, and its reason contains these words.
    case paused(String)
    /// The guard paused the campaign for a reason with these words. No device is changed.
    case guarded(String)
    /// The campaign had one target, a channel.
    case broadcast
  }

  /// The row's name: Apple's reason, and the special feature of the case.
  var name: String
  /// `nil` if the connection was refused.
  var status: Int?
  var auth: [Auth]
  /// The reason in `results export`; `nil` if it is the word of the scene or, without one, the first word of ``name``.
  var exported: String?
  var outcome: Outcome?
  var disposition: Disposition
  var device = Device.kept
  var credential = Credential.kept
  var connection = Connection.kept
  var campaign = Campaign.goesOn
  /// Scenes that make APNs give this answer. Each of them is tested.
  var scenes: [ReasonScene]

  init(
    _ name: String, _ status: Int?, auth: [Auth] = Auth.allCases, exported: String? = nil, _ outcome: Outcome?,
    _ disposition: Disposition, device: Device = .kept, credential: Credential = .kept,
    connection: Connection = .kept, campaign: Campaign = .goesOn, by scenes: ReasonScene...
  ) {
    self.name = name
    self.status = status
    self.auth = auth
    self.exported = exported
    self.outcome = outcome
    self.disposition = disposition
    self.device = device
    self.credential = credential
    self.connection = connection
    self.campaign = campaign
    self.scenes = scenes
  }

  var testDescription: String { "\(status.map(String.init) ?? "–") \(name)" }

  static let head = ["reason", "status", "auth", "outcome", "disposition", "what the worker did"]

  var cells: [String] {
    [
      name, status.map(String.init) ?? "–", auth.count == 2 ? "both" : auth[0].rawValue, outcome?.name ?? "–",
      dispositionText, deeds.joined(separator: "; "),
    ]
  }

  /// The consequences that all rows of one class share, without the reason.
  var kind: [String] {
    let campaign =
      switch campaign {
      case .goesOn: "continues"
      case .paused: "paused"
      case .guarded: "guarded"
      case .broadcast: "broadcast"
      }
    return [
      cells[3], dispositionText, device.rawValue, "\(credential == .kept)", "\(connection)", campaign,
      "\(status == nil)",
    ]
  }

  private var dispositionText: String {
    switch disposition {
    case .final:
      switch (outcome, device) {
      case (.accepted, _): "accepted"
      case (.rejected, _): "rejected"
      case (_, .pruned): "pruned"
      case (_, .quarantined): "quarantined"
      default: "recorded only"
      }
    case .resent: "sent again immediately"
    case .waits(let wait): "waits `\(wait.rawValue)`"
    case .held, .spared: "held"
    }
  }

  private var deeds: [String] {
    var deeds: [String] = []
    if device != .kept { deeds.append(device.rawValue) }
    switch credential {
    case .kept: break
    case .mintedOnce: deeds.append("measures the clock difference and mints a new token")
    case .stopped, .stoppedBySomethingUnknown: deeds.append("stops the credential")
    }
    if connection == .replaced { deeds.append("replaces the connection") }
    if connection == .another { deeds.append("sends over another connection") }
    switch campaign {
    case .goesOn: deeds.append("continues")
    case .broadcast: deeds.append(outcome == nil ? "continues" : "ends: it has one target")
    case .paused: deeds.append("pauses the campaign")
    case .guarded: deeds.append("changes no device; the guard pauses the campaign")
    }
    return deeds
  }
}

/// One run of a row.
struct ReasonRun: Sendable, CustomStringConvertible {
  var row: ReasonRow
  var scene: ReasonScene
  var auth: ReasonRow.Auth
  var engine: PushEngineKind

  var description: String { "\(row.testDescription), \(scene.remark), \(auth.rawValue), \(engine.rawValue)" }

  /// Returns every form of a row. The engines alternate, and the row's name decides which engine is first. A row with
  /// one form runs on both engines.
  static func all(of row: ReasonRow) -> [ReasonRun] {
    let engines = PushEngineKind.allCases
    let forms = row.scenes.flatMap { scene in row.auth.map { (scene, $0) } }
    return (0..<max(forms.count, engines.count)).map { number in
      let (scene, auth) = forms[number % forms.count]
      let engine = engines[(number + row.name.utf8.count) % engines.count]
      return ReasonRun(row: row, scene: scene, auth: auth, engine: engine)
    }
  }
}
