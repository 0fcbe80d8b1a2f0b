import PushTransport
import APNs
import APNsSimulator
import PushCore
import Testing

/// A row of the table in `Tests/Pages/reasons.md`: an answer of APNs and all its consequences.
struct ReasonRow: Sendable, CustomTestStringConvertible {
  /// What an app shows APNs.
  enum Auth: String, CaseIterable, Sendable {
    case token, certificate
  }

  /// What the ledger makes of the target.
  enum Disposition: Sendable, Equatable {
    /// It is done.
    case final
    /// It was sent again at once, and then taken.
    case resent
    /// It waits for its next attempt.
    case waits(Wait)
    /// It waits until somebody has mended the credential, the job or the app, at no cost of an attempt.
    case held
    /// It waits until the campaign is resumed, at no cost of an attempt: its device is left alone.
    case spared
  }

  /// For how long: the names of the configuration.
  enum Wait: String, Sendable {
    case firstServerError = "retry.firstServerError"
    case serverError = "retry.serverError"
    case tooManyRequests = "retry.tooManyRequests"
    case retryAfter = "Retry-After"
  }

  /// What became of the device.
  enum Device: String, Sendable {
    case kept = ""
    /// Though APNs called it gone: it registered again since.
    case spared = "keeps the device, which registered later"
    case pruned = "prunes the device"
    case quarantined = "quarantines the device"
  }

  /// What became of the credential.
  enum Credential: Sendable, Equatable {
    case kept
    /// Another provider token, off the grid.
    case mintedOnce
    case stopped(Reason)
    /// By an answer without a reason that is known.
    case stoppedBySomethingUnknown
  }

  /// What became of the connection.
  enum Connection: Sendable {
    case kept, replaced
    /// It is kept, and what is sent again goes over that for suspects.
    case another
    /// There never was one.
    case refused
  }

  /// What became of the campaign.
  enum Campaign: Sendable, Equatable {
    case goesOn
    /// Its reason has these words.
    case paused(String)
    /// By its guard, for a reason with these words; nothing is done to any device.
    case guarded(String)
    /// It had one target, a channel.
    case broadcast
  }

  /// What the table says: Apple's word, and what is peculiar about the case.
  var name: String
  /// `nil` for none: the connection was refused.
  var status: Int?
  var auth: [Auth]
  /// The reason that `results export` gives; `nil` for the name.
  var exported: String?
  var outcome: Outcome?
  var disposition: Disposition
  var device = Device.kept
  var credential = Credential.kept
  var connection = Connection.kept
  var campaign = Campaign.goesOn
  /// How APNs is brought to answer so; each of them is tested.
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

  /// What rows of one class have in common: all consequences, but not the reason.
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

  /// Every form of a row: the engines take turns, not always with the same first, and what has one form only is for both.
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
