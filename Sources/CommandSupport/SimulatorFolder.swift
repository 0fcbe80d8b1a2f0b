package import APNsSimulator
import Foundation
import Glibc
import TLS

/// What a simulator needs from one run to the next: a certificate that clients can trust, a signing key that it believes,
/// and a configuration that points the app `news` at it.
package struct SimulatorFolder {
  package static let keyID = "SIMULATOR1"
  package static let teamID = "SIMULATION"
  package static let topic = "com.example.news"
  /// The port of Apple's servers beside 443.
  package static let port: UInt16 = 2197

  package static let authority = "ca.pem"
  package static let certificate = "server.pem"
  package static let certificateKey = "server.key"
  package static let signingKey = "AuthKey_\(keyID).p8"
  package static let clientAuthority = "clients.pem"
  package static let configuration = "carillon.yaml"

  /// Push certificates with their keys: one that is right here, and two that show what a sender does about it.
  private static let pushCertificates: [(file: String, environments: Set<SimulatorEnvironment>, validity: Range<Int>)] =
    [
      ("push.pem", [.sandbox, .production], -86_400..<365 * 86_400),
      ("push-sandbox.pem", [.sandbox], -86_400..<365 * 86_400),
      ("push-expired.pem", [.sandbox, .production], -86_400 * 366 ..< -86_400),
    ]

  package let path: String

  package init(path: String) { self.path = path }

  /// Makes the folder and everything in it; never replaces a file.
  package func create() throws {
    let server = try SelfSignedIdentity()
    let key = try ECPrivateKey.generate()
    let clients = try PushCertificateAuthority()
    // mkdir(2): a folder that is there already is as good.
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw FileError.last(path) }
    try write(Self.authority, server.authorityPEM, mode: 0o644)
    try write(Self.certificate, server.identity.certificateChainPEM, mode: 0o644)
    try write(Self.certificateKey, server.identity.privateKeyPEM, mode: 0o600)
    try write(Self.signingKey, key.pem, mode: 0o600)
    try write(Self.clientAuthority, clients.authorityPEM, mode: 0o644)
    for (file, environments, validity) in Self.pushCertificates {
      let identity = try clients.issue(
        topic: Self.topic, topics: [Self.topic, Self.topic + ".voip", Self.topic + ".complication"],
        environments: environments, validity: validity)
      try write(file, identity.certificateChainPEM + identity.privateKeyPEM, mode: 0o600)
    }
    try write(Self.configuration, Self.configurationText, mode: 0o644)
  }

  /// How the simulator starts from the folder.
  package func load() throws -> SimulatorConfiguration {
    var result = SimulatorConfiguration()
    result.identity = TLSIdentity(
      certificateChainPEM: try read(Self.certificate), privateKeyPEM: try read(Self.certificateKey))
    // Folders of earlier versions have no such authority, and ask for no certificates.
    if access(path + "/" + Self.clientAuthority, F_OK) == 0 {
      result.clientAuthorityPEM = try read(Self.clientAuthority)
    }
    result.keys = [.init(keyID: Self.keyID, teamID: Self.teamID, pem: try read(Self.signingKey))]
    return result
  }

  private func write(_ name: String, _ text: String, mode: mode_t) throws(FileError) {
    let file = path + "/" + name
    // open(2): with O_EXCL a file that is there is an error, so that no key is lost and none is followed by a link.
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw FileError.last(file) }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try handle.write(contentsOf: Data(text.utf8))
    } catch {
      throw FileError(path: file, reason: error.localizedDescription)
    }
  }

  private func read(_ name: String) throws -> String {
    do {
      return String(decoding: try InputFile.contents(path + "/" + name, limit: 1 << 16), as: UTF8.self)
    } catch {
      throw CommandError(
        .input, "\(error.path): \(error.reason)", hint: "make the folder with: carillon simulate --init \(path)")
    }
  }

  private static let configurationText = """
    # The app `news` against the simulator in this folder instead of APNs: nothing leaves this machine.
    #
    #   carillon simulate --directory .
    #   carillon --config \(configuration) worker
    #
    # With another --port, set CARILLON_APPS_NEWS_ENDPOINT to https://127.0.0.1:PORT.

    redis:
      url: redis://127.0.0.1:6379/0
      namespace: carillon-simulator # apart from real data, should this Redis have any

    apps:
      news:
        topic: \(topic)
        environment: production
        token: { keyFile: \(signingKey), keyID: \(keyID), teamID: \(teamID) }
        endpoint: https://127.0.0.1:\(port)
        trustRoots: \(authority)
        # or, instead of token:
        # certificate: { file: push.pem }

    retry:
      serverError: 2s # nobody waits a quarter of an hour for a simulator

    """
}
