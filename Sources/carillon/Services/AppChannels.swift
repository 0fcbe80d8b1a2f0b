import APNs
import PushCore
import PushWorker
import TLS

/// The ways to the devices of the configured apps, with every file they name read and checked.
enum AppChannels {
  /// Certificates of a few authorities are some kB; more is some other file.
  private static let maximumRoots = 1 << 20

  static func make(_ apps: [String: CarillonConfiguration.App]) throws -> [String: AppChannel] {
    // Apps of the same key share its tokens, and by that their connections.
    var sources: [CarillonConfiguration.Token: ProviderTokenSource] = [:]
    var channels: [String: AppChannel] = [:]
    for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
      let source = try sources[app.token] ?? makeSource(app.token, app: name)
      sources[app.token] = source
      var channel = AppChannel(
        topic: app.topic, environment: app.environment.rawValue, endpoint: try endpoint(of: app, named: name),
        credential: source)
      channel.broadcastEndpoint = app.broadcastEndpoint.map { other in
        APNsEndpoint(url: other.url, trustRoots: channel.endpoint.trustRoots)
      }
      channels[name] = channel
    }
    return channels
  }

  private static func makeSource(_ token: CarillonConfiguration.Token, app: String) throws -> ProviderTokenSource {
    do {
      return try ProviderTokenSource(
        keyID: token.keyID, teamID: token.teamID, key: ECPrivateKey(contentsOf: token.keyFile))
    } catch let error as SigningKeyError {
      throw CommandError(.configuration, "apps.\(app).token.keyFile: \(error.file): \(error.reason)", hint: error.hint)
    } catch let error as ProviderTokenError {
      throw CommandError(.configuration, "apps.\(app).token.\(error)")
    }
  }

  private static func endpoint(of app: CarillonConfiguration.App, named name: String) throws -> APNsEndpoint {
    var endpoint = app.environment == .production ? APNsEndpoint.production : APNsEndpoint.sandbox
    if let other = app.endpoint { endpoint.url = other.url }
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
  var url: String { "https://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension SigningKeyError {
  /// What is wrong, without the file and without what to do.
  var reason: String {
    switch problem {
    case .unreadable(let reason): reason
    case .encrypted: "the key is encrypted"
    case .notAKey: "no private key in PEM found"
    case .wrongKind(let curve?): "the key is on the curve \(curve)"
    case .wrongKind(nil): "not an elliptic-curve key"
    case .openSSL(let reason): reason
    }
  }

  /// What to do about it.
  var hint: String {
    switch problem {
    case .unreadable: "check the path and its permissions"
    case .encrypted: "Apple's .p8 files are not; decrypt it with: openssl pkcs8 -in FILE -out NEW"
    case .notAKey: "take the .p8 file of developer.apple.com: Certificates, Identifiers & Profiles, Keys"
    case .wrongKind: "APNs takes P-256 only (ES256): take the .p8 file of developer.apple.com"
    case .openSSL: "see whether openssl pkey -in FILE can read it"
    }
  }
}
