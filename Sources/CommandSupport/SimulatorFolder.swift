package import APNsSimulator
import Foundation
import Glibc
import TLS

/// Folder with the files that a simulator keeps between runs. The files are a certificate that clients can trust, a
/// signing key and a service account that the simulator accepts, and a configuration whose apps use the simulator.
package struct SimulatorFolder {
  package static let keyID = "SIMULATOR1"
  package static let teamID = "SIMULATION"
  package static let topic = "com.example.news"
  /// Second port of Apple's servers, besides 443.
  package static let port: UInt16 = 2197

  package static let authority = "ca.pem"
  package static let certificate = "server.pem"
  package static let certificateKey = "server.key"
  package static let signingKey = "AuthKey_\(keyID).p8"
  package static let clientAuthority = "clients.pem"
  package static let configuration = "carillon.yaml"
  package static let serviceAccount = "service-account.json"
  package static let projectID = "simulator-project"

  /// Push certificates with their keys: one valid certificate, and two invalid ones to test how a sender handles them.
  private static let pushCertificates: [(file: String, environments: Set<SimulatorEnvironment>, validity: Range<Int>)] =
    [
      ("push.pem", [.sandbox, .production], -86_400..<365 * 86_400),
      ("push-sandbox.pem", [.sandbox], -86_400..<365 * 86_400),
      ("push-expired.pem", [.sandbox, .production], -86_400 * 366 ..< -86_400),
    ]

  package let path: String

  package init(path: String) { self.path = path }

  /// Creates the folder and its files. It never replaces a file.
  ///
  /// - Parameter ports: the ports to write into the configuration and the service account.
  package func create(_ ports: SimulatorPorts = SimulatorPorts()) throws {
    let server = try SelfSignedIdentity()
    let key = try ECPrivateKey.generate()
    let clients = try PushCertificateAuthority()
    // mkdir(2): an existing folder is not an error.
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw FileError.last(path) }
    try write(Self.authority, server.authorityPEM, mode: 0o644)
    try write(Self.certificate, server.identity.certificateChainPEM, mode: 0o644)
    try write(Self.certificateKey, server.identity.privateKeyPEM, mode: 0o600)
    try write(Self.signingKey, key.pem, mode: 0o600)
    try write(Self.clientAuthority, clients.authorityPEM, mode: 0o644)
    try write(Self.serviceAccount, try Self.serviceAccountText(ports), mode: 0o600)
    for (file, environments, validity) in Self.pushCertificates {
      let identity = try clients.issue(
        topic: Self.topic, topics: [Self.topic, Self.topic + ".voip", Self.topic + ".complication"],
        environments: environments, validity: validity)
      try write(file, identity.certificateChainPEM + identity.privateKeyPEM, mode: 0o600)
    }
    try write(Self.configuration, Self.configurationText(ports), mode: 0o644)
  }

  /// Returns the configuration of a simulator that uses the folder.
  package func load() throws -> SimulatorConfiguration {
    var result = SimulatorConfiguration()
    result.identity = TLSIdentity(
      certificateChainPEM: try read(Self.certificate), privateKeyPEM: try read(Self.certificateKey))
    // A folder of an earlier version does not contain this authority. In that case, the simulator does not request
    // client certificates.
    if access(path + "/" + Self.clientAuthority, F_OK) == 0 {
      result.clientAuthorityPEM = try read(Self.clientAuthority)
    }
    // A folder of an earlier version does not contain this file. In that case, the simulator has no FCM side.
    if access(path + "/" + Self.serviceAccount, F_OK) == 0 {
      var fcm = FCMConfiguration()
      fcm.accounts = [try account()]
      result.fcm = fcm
    }
    result.keys = [.init(keyID: Self.keyID, teamID: Self.teamID, pem: try read(Self.signingKey))]
    return result
  }

  private func account() throws -> FCMConfiguration.Account {
    do {
      return try .init(serviceAccount: Array(try read(Self.serviceAccount).utf8))
    } catch let error as DecodingError {
      throw CommandError(
        .input, "\(path)/\(Self.serviceAccount) is not a service account: \(error)",
        hint: "create a new folder: carillon simulate --init DIR")
    }
  }

  /// Returns the key file of a new service account, as Google's console makes it.
  private static func serviceAccountText(_ ports: SimulatorPorts) throws -> String {
    let members: [(String, String)] = [
      ("type", "service_account"), ("project_id", projectID),
      ("private_key_id", (0..<20).map { _ in hex(UInt8.random(in: .min ... .max)) }.joined()),
      ("private_key", try RSAPrivateKey.generate().pem.replacing("\n", with: "\\n")),
      ("client_email", "carillon@\(projectID).iam.gserviceaccount.com"), ("client_id", "100000000000000000000"),
      ("token_uri", "https://127.0.0.1:\(ports.token)/token"), ("universe_domain", "googleapis.com"),
    ]
    return "{\n" + members.map { "  \"\($0.0)\": \"\($0.1)\"" }.joined(separator: ",\n") + "\n}\n"
  }

  private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

  private func write(_ name: String, _ text: String, mode: mode_t) throws(FileError) {
    let file = path + "/" + name
    // open(2): with O_EXCL, an existing file is an error. So no key is overwritten, and no symbolic link is followed.
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
        .input, "\(error.path): \(error.reason)", hint: "create the folder: carillon simulate --init \(path)")
    }
  }

  private static func configurationText(_ ports: SimulatorPorts) -> String {
    """
    # Apps against the simulator in this folder instead of APNs and FCM: nothing leaves this machine.
    #
    #   carillon simulate --directory .\(ports.options)
    #   carillon --config \(configuration) worker

    redis:
      url: redis://127.0.0.1:6379/0
      namespace: carillon-simulator # keeps the test data separate from other data in this Redis

    apps:
      news: # Apple devices
        apns:
          topic: \(topic)
          environment: production
          token: { keyFile: \(signingKey), keyID: \(keyID), teamID: \(teamID) }
          endpoint: https://127.0.0.1:\(ports.apns)
          trustRoots: \(authority)
          # or, instead of token:
          # certificate: { file: push.pem }
      android: # Android devices
        fcm: { serviceAccountFile: \(serviceAccount), endpoint: "https://127.0.0.1:\(ports.fcm)", trustRoots: \(authority) }
      shop: # Apple and Android devices
        apns:
          topic: com.example.shop
          environment: production
          token: { keyFile: \(signingKey), keyID: \(keyID), teamID: \(teamID) }
          endpoint: https://127.0.0.1:\(ports.apns)
          trustRoots: \(authority)
        fcm: { serviceAccountFile: \(serviceAccount), endpoint: "https://127.0.0.1:\(ports.fcm)", trustRoots: \(authority) }

    retry:
      serverError: 2s # shorter than for APNs, because this is a test

    """
  }
}
