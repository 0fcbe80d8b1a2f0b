package import APNs
package import PushTransport
package import PushCore
package import TLS

/// Reads the files of credentials; errors name the key of the configuration, the file, and what to do.
package struct CredentialFiles {
  /// The app in whose name it is done.
  package let app: String

  package init(app: String) { self.app = app }

  /// The signing key.
  package func key(_ token: CarillonConfiguration.Token) throws(CommandError) -> ECPrivateKey {
    do throws(SigningKeyError) {
      return try ECPrivateKey(contentsOf: token.keyFile)
    } catch {
      throw CommandError(.configuration, "apps.\(app).token.keyFile: \(error.file): \(error.reason)", hint: error.hint)
    }
  }

  /// The certificate with its key.
  package func identity(_ certificate: CarillonConfiguration.Certificate) throws(CommandError) -> TLSIdentity {
    do throws(IdentityError) {
      return try TLSIdentity(contentsOf: certificate.file, passphraseFile: certificate.passphraseFile)
    } catch {
      let key = error.file == certificate.passphraseFile ? "passphraseFile" : "file"
      throw CommandError(
        .configuration, "apps.\(app).certificate.\(key): \(error.file): \(error.reason)", hint: error.hint)
    }
  }

  /// Checks that a certificate is for the app. Whether it has expired is APNs' to say: its clock counts.
  package func check(_ certificate: PushCertificate, for configuration: CarillonConfiguration.App) throws(CommandError)
  {
    guard certificate.covers(bundle: configuration.topic) else {
      throw CommandError(
        .configuration,
        "apps.\(app).certificate: “\(certificate.name)” is for \(certificate.topics.joined(separator: ", ")), "
          + "not for \(configuration.topic)",
        hint: "name the certificate of this app, or mend apps.\(app).topic")
    }
    let environment = PushCertificate.Environment(configuration.environment)
    guard certificate.covers(environment) else {
      throw CommandError(
        .configuration,
        "apps.\(app).certificate: “\(certificate.name)” is not for \(environment.rawValue)",
        hint:
          "set apps.\(app).environment to \(certificate.environments.map(\.rawValue).joined()), or make a certificate "
          + "of the kind “Sandbox & Production”")
    }
  }

  /// What a proxy is told of who we are.
  package func login(_ file: String) throws(CommandError) -> PushEndpoint.Proxy.Login {
    do throws(SecretFileError) {
      let line = String(decoding: try SecretFile.passphrase(file), as: UTF8.self)
      if let colon = line.firstIndex(of: ":") {
        return .init(user: String(line[..<colon]), password: String(line[line.index(after: colon)...]))
      }
    } catch {
      throw CommandError(
        .configuration, "apps.\(app).proxy.credentialsFile: \(file): \(error.reason)", hint: error.hint)
    }
    throw CommandError(
      .configuration, "apps.\(app).proxy.credentialsFile: \(file): no colon in its first line",
      hint: "write user:password there")
  }
}

extension PushCertificate.Environment {
  package init(_ environment: PushEnvironment) {
    switch environment {
    case .production: self = .production
    case .sandbox: self = .sandbox
    }
  }
}
