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
      channels[name] = AppChannel(
        topic: app.topic, environment: app.environment.rawValue, endpoint: try endpoint(of: app, named: name),
        credential: source)
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
