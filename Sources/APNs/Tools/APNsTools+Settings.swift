internal import PushCore
public import ServiceTools

/// Parsing of the APNs settings in the configuration, and questions for a new configuration.
extension APNsTools {
  public var keys: [String: [String]] {
    [
      "": [
        "topic", "environment", "token", "certificate", "endpoint", "broadcastEndpoint", "channelEndpoint", "port",
      ],
      "token": Self.tokenKeys, "certificate": Self.certificateKeys,
    ]
  }

  private static let tokenKeys = ["keyFile", "keyID", "teamID"]
  private static let certificateKeys = ["file", "passphraseFile"]

  public func settings(
    _ section: ConfigurationSection, resolve: (String) -> String
  ) throws(ConfigurationError) -> any PushServiceSettings {
    let topic = try section.required("topic", hint: "the app's bundle id, such as com.example.news")
    guard (1...255).contains(topic.utf8.count), topic.utf8.allSatisfy({ PlainName.isLetter($0) }) else {
      throw section.error("topic", "\(Excerpt.quoted(topic)) is not a bundle id")
    }
    let endpoint = try Self.endpoint("endpoint", section)
    if endpoint != nil, section.has("port") {
      throw section.error("port", "is for Apple's servers", hint: "write the port into endpoint: https://HOST:PORT")
    }
    return APNsSettings(
      path: section.path, topic: topic,
      environment: try section.choice("environment", default: PushEnvironment.production),
      credential: try Self.credential(section, resolve), endpoint: endpoint,
      broadcastEndpoint: try Self.endpoint("broadcastEndpoint", section),
      channelEndpoint: try Self.endpoint("channelEndpoint", section),
      port: try section.integer("port", in: 1...65535, default: 443))
  }

  private static func endpoint(
    _ key: String, _ section: ConfigurationSection
  ) throws(ConfigurationError) -> EndpointAddress? {
    try section.endpoint(key, hint: "APNs speaks HTTP/2 over TLS only")
  }

  private static func credential(
    _ section: ConfigurationSection, _ resolve: (String) -> String
  ) throws(ConfigurationError) -> APNsSettings.Credential {
    guard section.has("certificate") else {
      let token = try section.section("token", keys: tokenKeys)
      return .token(
        APNsSettings.Token(
          keyFile: resolve(try token.required("keyFile", hint: "the .p8 file of an APNs key of developer.apple.com")),
          keyID: try appleID("keyID", token, hint: "the ten characters in the name of AuthKey_….p8"),
          teamID: try appleID("teamID", token, hint: "the ten characters of the team, under Membership")))
    }
    guard !section.has("token") else {
      throw section.error(
        "certificate", "can't be used together with a token", hint: "keep one of the two: a token serves all apps")
    }
    let certificate = try section.section("certificate", keys: certificateKeys)
    return .certificate(
      APNsSettings.Certificate(
        file: resolve(try certificate.required("file", hint: "a .p12 file, or PEM with certificate and key")),
        passphraseFile: try certificate.string("passphraseFile").map(resolve)))
  }

  private static func appleID(
    _ key: String, _ section: ConfigurationSection, hint: String
  ) throws(ConfigurationError) -> String {
    let id = try section.required(key, hint: hint)
    // Source: Apple, "Establishing a token-based connection to APNs": a 10-character identifier.
    guard id.utf8.count == 10, id.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
      throw section.error(key, "\(Excerpt.quoted(id)) is not ten letters and digits", hint: hint)
    }
    return id
  }

  // MARK: A new configuration

  public func setUp(_ interview: SetupInterview) throws -> SetupDraft {
    var draft = SetupDraft(
      files: ["key-file", "certificate", "passphrase-file"].compactMap { interview.options[$0] })
    draft.add("topic", try interview.answer("topic", "What is its bundle id?"))
    draft.add(
      "environment",
      try interview.answer(
        "environment", "production, or sandbox for development builds?", standard: PushEnvironment.production.rawValue))
    if let certificate = interview.options["certificate"] {
      guard ["key-file", "key-id", "team-id"].allSatisfy({ interview.options[$0] == nil }) else {
        throw ServiceError(
          .usage, "--certificate and a signing key can't be combined",
          hint: "choose one; a key works for all apps of a team")
      }
      draft.add("certificate", nil)
      draft.add("file", interview.path(certificate), depth: 1)
      if let passphrase = interview.options["passphrase-file"] {
        draft.add("passphraseFile", interview.path(passphrase), depth: 1)
      }
      return draft
    }
    let key = try interview.answer("key-file", "Which file is the signing key (AuthKey_….p8)?")
    draft.add("token", nil)
    draft.add("keyFile", interview.path(key), depth: 1)
    draft.add(
      "keyID", try interview.answer("key-id", "What is the key's id?", standard: APNsSettings.keyID(ofFile: key)),
      depth: 1)
    draft.add(
      "teamID", try interview.answer("team-id", "What is the team's id? (developer.apple.com, Membership)"), depth: 1)
    return draft
  }
}
