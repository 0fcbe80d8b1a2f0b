package import PushTransport
import PushCore
package import PushWorker
import ServiceTools
import TLS

/// Creates the channels of the configured apps: for each push service of an app, its address, credential and limits.
/// Reads and checks every file that the settings name.
package enum AppChannels {
  /// Largest size of a file with root certificates. The certificates of a few authorities have some kB, so a larger
  /// file has other content.
  private static let maximumRoots = 1 << 20

  package static func make(_ apps: [String: CarillonConfiguration.App]) throws -> [String: AppChannel] {
    // Apps with the same key or certificate share one credential object, and therefore also its connections.
    var credentials: [AnyHashable: any PushCredential] = [:]
    var channels: [String: AppChannel] = [:]
    for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
      var channel = AppChannel([])
      for service in app.services {
        let settings = service.settings
        let endpoint = try endpoint(of: service, app: name)
        let credential =
          try credentials[settings.credentialIdentity] ?? settings.makeCredential(reaching: endpoint)
        credentials[settings.credentialIdentity] = credential
        try settings.check(credential)
        channel.services.append(Self.channel(to: service, at: endpoint, credential))
      }
      channel.caps = app.caps
      channel.approvalAbove = app.approvalAbove
      channel.control = app.control
      channel.backend = app.backend
      channels[name] = channel
    }
    return channels
  }

  private static func channel(
    to service: CarillonConfiguration.AppService, at endpoint: PushEndpoint, _ credential: any PushCredential
  ) -> ServiceChannel {
    let settings = service.settings
    var channel = ServiceChannel(
      service: settings.service(with: credential), environment: settings.environmentName,
      endpoint: endpoint, credential: credential)
    channel.broadcastEndpoint = settings.broadcastURL.map { url in
      var endpoint = channel.endpoint
      endpoint.url = url
      return endpoint
    }
    channel.rate = service.rate
    channel.connections = service.connections
    return channel
  }

  /// Returns the endpoint of an app's push service, with the content of the files that the endpoint needs.
  package static func endpoint(of service: CarillonConfiguration.AppService, app: String) throws -> PushEndpoint {
    let path = "apps.\(app).\(service.tools.service.name)"
    var endpoint = PushEndpoint(url: service.settings.url)
    if let proxy = service.proxy {
      endpoint.proxy = .init(url: proxy.url, login: try proxy.credentialsFile.map { try login($0, path: path) })
    }
    guard let roots = service.trustRoots else { return endpoint }
    do throws(FileError) {
      let text = String(decoding: try InputFile.contents(roots, limit: maximumRoots), as: UTF8.self)
      guard text.contains("-----BEGIN CERTIFICATE-----") else {
        throw FileError(path: roots, reason: "has no certificate in PEM")
      }
    } catch {
      throw CommandError(
        .configuration, "\(path).trustRoots: \(error.path): \(error.reason)",
        hint: "set it to a PEM file with the certificate of the authority that signed the endpoint's certificate")
    }
    endpoint.trustRoots = roots
    return endpoint
  }

  /// Reads the user and the password for a proxy.
  private static func login(_ file: String, path: String) throws(CommandError) -> PushEndpoint.Proxy.Login {
    do throws(SecretFileError) {
      let line = String(decoding: try SecretFile.passphrase(file), as: UTF8.self)
      if let colon = line.firstIndex(of: ":") {
        return .init(user: String(line[..<colon]), password: String(line[line.index(after: colon)...]))
      }
    } catch {
      throw CommandError(
        .configuration, "\(path).proxy.credentialsFile: \(file): \(error.reason)", hint: error.hint)
    }
    throw CommandError(
      .configuration, "\(path).proxy.credentialsFile: \(file): no colon in its first line",
      hint: "write user:password into the first line")
  }
}
