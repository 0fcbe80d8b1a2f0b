public import PushTransport
public import ServiceTools
internal import TLS

/// Reading and checking of the credential's files. Every error names the configuration key and the file, and gives a
/// hint.
extension APNsSettings {
  /// Number of days before a certificate expires from which `doctor` reports the expiry.
  private static let soon: Int64 = 30
  private static let day: Int64 = 86_400

  public var credentialIdentity: AnyHashable { credential }

  public var credentialFiles: [String] {
    switch credential {
    case .token(let token): [token.keyFile]
    case .certificate(let certificate): [certificate.file] + (certificate.passphraseFile.map { [$0] } ?? [])
    }
  }

  public func makeCredential(reaching endpoint: PushEndpoint) throws -> any PushCredential { try makeCredential() }

  /// Reads the credential from its files, without a request to a server.
  func makeCredential() throws -> any PushCredential {
    switch credential {
    case .certificate(let certificate): return try ClientCertificate(try identity(certificate))
    case .token(let token):
      let key = try key(token)
      do throws(ProviderTokenError) {
        return try ProviderTokenSource(keyID: token.keyID, teamID: token.teamID, key: key)
      } catch {
        throw ServiceError(.configuration, "\(path).token.\(error)")
      }
    }
  }

  public func check(_ credential: any PushCredential) throws(ServiceError) {
    if let certificate = (credential as? ClientCertificate)?.certificate { try check(certificate) }
  }

  public func reload(_ credential: any PushCredential, sharedBy apps: [any PushServiceSettings]) throws {
    switch (self.credential, credential) {
    case (.token(let token), let source as ProviderTokenSource): source.replace(key: try key(token))
    case (.certificate(let certificate), let current as ClientCertificate):
      let identity = try identity(certificate)
      let new = try PushCertificate(CertificateFacts(pem: identity.certificateChainPEM))
      for case let app as APNsSettings in apps { try app.check(new) }
      try current.replace(identity)
    default: break
    }
  }

  public func expiry(of credential: any PushCredential) -> CredentialExpiry? {
    guard let certificate = (credential as? ClientCertificate)?.certificate else { return nil }
    return CredentialExpiry(name: certificate.name, end: certificate.validity.upperBound)
  }

  public func credentialFindings(now: Int64) throws -> [CredentialFinding] {
    switch credential {
    case .token(let token):
      _ = try key(token)
      return [finding(token)]
    case .certificate(let certificate):
      let identity = try identity(certificate)
      let push = PushCertificate(try CertificateFacts(pem: identity.certificateChainPEM))
      try check(push)
      return [Self.finding(push, now: now)]
    }
  }

  // MARK: Files

  /// Reads the signing key.
  private func key(_ token: Token) throws(ServiceError) -> ECPrivateKey {
    do throws(SigningKeyError) {
      return try ECPrivateKey(contentsOf: token.keyFile)
    } catch {
      throw ServiceError(.configuration, "\(path).token.keyFile: \(error.file): \(error.reason)", hint: error.hint)
    }
  }

  /// Reads the certificate with its key.
  func identity(_ certificate: Certificate) throws(ServiceError) -> TLSIdentity {
    do throws(IdentityError) {
      return try TLSIdentity(contentsOf: certificate.file, passphraseFile: certificate.passphraseFile)
    } catch {
      let key = error.file == certificate.passphraseFile ? "passphraseFile" : "file"
      throw ServiceError(
        .configuration, "\(path).certificate.\(key): \(error.file): \(error.reason)", hint: error.hint)
    }
  }

  /// Checks that a certificate is valid for the app. Its validity period is not checked: APNs checks the period by its
  /// own clock.
  private func check(_ certificate: PushCertificate) throws(ServiceError) {
    guard certificate.covers(bundle: topic) else {
      throw ServiceError(
        .configuration,
        "\(path).certificate: “\(certificate.name)” is for \(certificate.topics.joined(separator: ", ")), "
          + "not for \(topic)",
        hint: "use the certificate of this app, or fix \(path).topic")
    }
    let environment = PushCertificate.Environment(environment)
    guard certificate.covers(environment) else {
      throw ServiceError(
        .configuration,
        "\(path).certificate: “\(certificate.name)” is not for \(environment.rawValue)",
        hint:
          "set \(path).environment to \(certificate.environments.map(\.rawValue).joined()), or create a certificate "
          + "of the kind “Sandbox & Production”")
    }
  }

  // MARK: Findings

  /// Returns the id of a key from the file name that Apple gives it: `AuthKey_ABC123DEFG.p8`.
  static func keyID(ofFile file: String) -> String? {
    let name = file.split(separator: "/").last ?? ""
    guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
    let id = name.dropFirst("AuthKey_".count).dropLast(".p8".count)
    return id.isEmpty ? nil : String(id)
  }

  /// Checks the id of a signing key. The key does not contain its id, so only the file name can reveal a wrong id.
  private func finding(_ token: Token) -> CredentialFinding {
    if let id = Self.keyID(ofFile: token.keyFile), id != token.keyID {
      let file = token.keyFile.split(separator: "/").last.map(String.init) ?? token.keyFile
      return .advice(
        "the key's file is \(file), but the configured key id is \(token.keyID)",
        hint: "unless you renamed the file, set \(path).token.keyID to \(id): APNs refuses a wrong id")
    }
    return .healthy("key \(token.keyID) of team \(token.teamID) can be read, and does not expire")
  }

  /// Returns a finding about the expiry of a certificate.
  private static func finding(_ certificate: PushCertificate, now: Int64) -> CredentialFinding {
    let left = certificate.validity.upperBound - now
    let hint = "renew it at developer.apple.com and replace the file: workers read a new file within seconds"
    if certificate.validity.lowerBound > now {
      return .problem("“\(certificate.name)” is not valid yet", hint: "check the clock of this machine, or wait")
    }
    if left < 0 { return .problem("“\(certificate.name)” has expired", hint: hint) }
    let text = "“\(certificate.name)” is valid for \(left / day) more days"
    return left < soon * day ? .problem(text, hint: hint) : .healthy(text)
  }
}
