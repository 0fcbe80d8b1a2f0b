package import PushTransport
import APNs
import PushCore
package import PushWorker
import TLS

/// The ways to the devices of the configured apps, with every file they name read and checked.
package enum AppChannels {
  /// Certificates of a few authorities are some kB; more is some other file.
  private static let maximumRoots = 1 << 20

  package static func make(_ apps: [String: CarillonConfiguration.App]) throws -> [String: AppChannel] {
    // Apps of the same key or certificate share it, and by that their connections.
    var credentials: [CarillonConfiguration.Credential: any PushCredential] = [:]
    var channels: [String: AppChannel] = [:]
    for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
      let credential = try credentials[app.credential] ?? makeCredential(app.credential, app: name)
      credentials[app.credential] = credential
      if let certificate = (credential as? ClientCertificate)?.certificate {
        try CredentialFiles(app: name).check(certificate, for: app)
      }
      var channel = AppChannel(
        service: APNsService(AppTraits(topic: app.topic, authentication: authentication(credential))),
        environment: app.environment.rawValue, endpoint: try endpoint(of: app, named: name), credential: credential)
      channel.broadcastEndpoint = app.broadcastEndpoint.map { other in
        var endpoint = channel.endpoint
        endpoint.url = other.url
        return endpoint
      }
      channel.rate = app.rate
      channel.caps = app.caps
      channel.approvalAbove = app.approvalAbove
      channel.control = app.control
      channel.backend = app.backend
      channels[name] = channel
    }
    return channels
  }

  private static func authentication(_ credential: any PushCredential) -> AppTraits.Authentication {
    (credential as? ClientCertificate).map { .client($0) } ?? .token
  }

  private static func makeCredential(
    _ credential: CarillonConfiguration.Credential, app: String
  ) throws -> any PushCredential {
    let files = CredentialFiles(app: app)
    switch credential {
    case .certificate(let certificate): return try ClientCertificate(try files.identity(certificate))
    case .token(let token):
      let key = try files.key(token)
      do throws(ProviderTokenError) {
        return try ProviderTokenSource(keyID: token.keyID, teamID: token.teamID, key: key)
      } catch {
        throw CommandError(.configuration, "apps.\(app).token.\(error)")
      }
    }
  }

  /// Where an app's pushes go, with the files that this takes.
  package static func endpoint(of app: CarillonConfiguration.App, named name: String) throws -> PushEndpoint {
    var endpoint =
      app.environment == .production ? PushEndpoint.production(port: app.port) : .sandbox(port: app.port)
    if let other = app.endpoint { endpoint.url = other.url }
    if let proxy = app.proxy {
      endpoint.proxy = .init(url: proxy.url, login: try proxy.credentialsFile.map(CredentialFiles(app: name).login))
    }
    guard let roots = app.trustRoots else { return endpoint }
    do throws(FileError) {
      let text = String(decoding: try InputFile.contents(roots, limit: maximumRoots), as: UTF8.self)
      guard text.contains("-----BEGIN CERTIFICATE-----") else {
        throw FileError(path: roots, reason: "has no certificate in PEM")
      }
    } catch {
      throw CommandError(
        .configuration, "apps.\(name).trustRoots: \(error.path): \(error.reason)",
        hint: "it is a PEM file with the certificate of whoever signed the endpoint's")
    }
    endpoint.trustRoots = roots
    return endpoint
  }
}

extension CarillonConfiguration.Endpoint {
  /// `https://host:port`.
  package var url: String { "https://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
