import Foundation
import TLS
import TestKit
import TestSupport
import Testing

/// Client identities in the formats that people use: files of openssl, like those of Keychain and other programs.
@Suite struct IdentityFileTests {
  /// A folder with a certificate of a new authority (`cert.pem`), its key (`key.pem`) and a passphrase (`pass`).
  private struct Material {
    static let passphrase = "öpen sesame"

    let folder: ScratchFolder
    let identity: TLSIdentity
    let authority: ClientCertificateAuthority

    init() throws {
      folder = try ScratchFolder("identity")
      authority = try ClientCertificateAuthority()
      identity = try authority.issue(commonName: "Apple Push Services: com.example.news", userID: "com.example.news")
      try folder.write("cert.pem", identity.certificateChainPEM)
      try folder.writeSecret("key.pem", identity.privateKeyPEM)
      try folder.write("ca.pem", authority.authorityPEM)
      try folder.writeSecret("pass", Self.passphrase + "\n")
      try folder.writeSecret("wrong", "something else\n")
      try folder.writeSecret("empty", "\n")
    }

    /// Runs openssl in the folder.
    func openssl(_ arguments: String...) async throws {
      let output = try await ChildProcess.run("openssl", arguments, folder: folder.url)
      guard output.exit == .status(0) else { throw TestSupportError("openssl: \(output.standardError)") }
    }

    /// Creates `push.p12` from certificate and key.
    func export(_ more: String..., passphrase: String = "file:pass") async throws {
      let arguments = ["pkcs12", "-export", "-in", "cert.pem", "-inkey", "key.pem", "-out", "push.p12", "-passout"]
      let output = try await ChildProcess.run("openssl", arguments + [passphrase] + more, folder: folder.url)
      guard output.exit == .status(0) else { throw TestSupportError("openssl: \(output.standardError)") }
      try protect("push.p12")
    }

    func protect(_ name: String, mode: Int = 0o600) throws {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path(name))
    }

    func read(_ name: String, _ passphrase: String? = "pass") throws(IdentityError) -> TLSIdentity {
      try TLSIdentity(contentsOf: folder.path(name), passphraseFile: passphrase.map(folder.path))
    }

    /// Returns the reason why a file is unusable; `nil` if it is usable.
    func problem(_ name: String, _ passphrase: String? = "pass") -> IdentityError.Problem? {
      do throws(IdentityError) {
        _ = try read(name, passphrase)
        return nil
      } catch {
        return error.problem
      }
    }
  }

  /// Returns whether both have the same certificate and key, in any format.
  private func isSame(_ one: TLSIdentity, _ other: TLSIdentity) -> Bool {
    one.certificateChainPEM.hasPrefix(other.certificateChainPEM) && one.privateKeyPEM == other.privateKeyPEM
  }

  @Test func pkcs12IsReadWithItsPassphrase() async throws {
    let material = try Material()
    try await material.export()
    expect(isSame(try material.read("push.p12"), material.identity))
    expect(material.problem("push.p12", "wrong"), is: .wrongPassphrase)
    expect(material.problem("push.p12", "empty"), is: .wrongPassphrase)
    expect(material.problem("push.p12", nil), is: .passphraseMissing)
  }

  @Test(arguments: ["pass:", "file:empty"])
  func pkcs12WithoutAPassphraseNeedsNone(passphrase: String) async throws {
    let material = try Material()
    try await material.export(passphrase: passphrase)
    expect(isSame(try material.read("push.p12", nil), material.identity))
    expect(isSame(try material.read("push.p12", "empty"), material.identity))
  }

  @Test(arguments: [["-legacy"], ["-legacy", "-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES"]])
  func keychainsOldCiphersAreRead(options: [String]) async throws {
    let material = try Material()
    let arguments = ["pkcs12", "-export", "-in", "cert.pem", "-inkey", "key.pem", "-out", "push.p12"]
    let output = try await ChildProcess.run(
      "openssl", arguments + ["-passout", "file:pass"] + options, folder: material.folder.url)
    expect(output.exit, is: .status(0), "\(output.standardError)")
    try material.protect("push.p12")
    expect(isSame(try material.read("push.p12"), material.identity))
    expect(material.problem("push.p12", "wrong"), is: .wrongPassphrase)
  }

  @Test func chainGoesAlongInItsOrderWithoutTheRoot() async throws {
    let material = try Material()
    let folder = material.folder
    try folder.write("ext", "basicConstraints=CA:TRUE\n")
    try folder.writeSecret("ca.key", material.authority.privateKeyPEM)
    // The temporary authority does not allow an intermediate authority, but openssl does not check that here.
    try await material.openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "mid.key", "-out", "mid.csr",
      "-subj", "/CN=Intermediate")
    try await material.openssl(
      "x509", "-req", "-in", "mid.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "ext",
      "-out", "mid.pem")
    try await material.openssl("req", "-new", "-key", "key.pem", "-out", "leaf.csr", "-subj", "/CN=Leaf")
    try await material.openssl(
      "x509", "-req", "-in", "leaf.csr", "-CA", "mid.pem", "-CAkey", "mid.key", "-CAcreateserial", "-out", "cert.pem")
    let parts = try ["ca.pem", "mid.pem", "cert.pem"].map {
      try String(contentsOfFile: folder.path($0), encoding: .utf8)
    }
    try folder.write("chain.pem", parts[0] + parts[1])
    try await material.export("-certfile", "chain.pem")
    let wanted = parts[2] + parts[1]
    expect(try material.read("push.p12").certificateChainPEM, is: wanted)
    // The same in PEM, in any order.
    try folder.writeSecret("all.pem", parts.joined() + material.identity.privateKeyPEM)
    expect(try material.read("all.pem").certificateChainPEM, is: wanted)
  }

  @Test func missingPartOfAnIdentityIsNamed() async throws {
    let material = try Material()
    let folder = material.folder
    try await material.export("-nokeys")
    expect(material.problem("push.p12"), is: .noKey)
    try await material.openssl(
      "pkcs12", "-export", "-nocerts", "-inkey", "key.pem", "-out", "key.p12", "-passout", "file:pass")
    try material.protect("key.p12")
    expect(material.problem("key.p12"), is: .noCertificate)
    try await material.openssl("x509", "-in", "cert.pem", "-outform", "DER", "-out", "push.cer")
    try material.protect("push.cer")
    expect(material.problem("push.cer"), is: .noKey)
    try folder.writeSecret("cert-only.pem", material.identity.certificateChainPEM)
    expect(material.problem("cert-only.pem"), is: .noKey)
    expect(material.problem("key.pem"), is: .noCertificate)
    let other = try ClientCertificateAuthority().issue(commonName: "other", userID: "other")
    try folder.writeSecret("mixed.pem", material.identity.certificateChainPEM + other.privateKeyPEM)
    expect(material.problem("mixed.pem"), is: .mismatch)
    try folder.writeSecret("hello.p12", "hello")
    expect(material.problem("hello.p12"), is: .unknownFormat)
    expect(material.problem("nowhere.p12"), is: .file(.unreadable("No such file or directory")))
    let error = #expect(throws: IdentityError.self) { try material.read("key.p12", "nowhere") }
    expect(error?.file, is: folder.path("nowhere"))
    for problem in [IdentityError.Problem.noKey, .mismatch, .legacyProviderMissing, .wrongPassphrase] {
      expect(IdentityError(file: "push.p12", problem: problem).description.hasPrefix("push.p12: "))
    }
  }

  @Test func damagedFileIsNotTakenForAWrongPassphrase() async throws {
    let material = try Material()
    try await material.export("-nomac")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: material.folder.path("push.p12")))
    bytes[bytes.count - 40] ^= 0xff
    try bytes.write(to: URL(fileURLWithPath: material.folder.path("push.p12")))
    try material.protect("push.p12")
    guard case .damaged = material.problem("push.p12") else {
      Issue.record("\(String(describing: material.problem("push.p12")))")
      return
    }
  }

  @Test(arguments: [["-aes256"], ["-v1", "PBE-SHA1-RC2-40"], ["-traditional"]])
  func pemWithAnEncryptedKeyIsReadWithItsPassphrase(options: [String]) async throws {
    let material = try Material()
    if options == ["-traditional"] {
      try await material.openssl(
        "ec", "-in", "key.pem", "-aes128", "-out", "locked.key", "-passout", "file:pass")
    } else {
      let arguments = ["pkcs8", "-topk8", "-in", "key.pem", "-out", "locked.key", "-passout", "file:pass"]
      let cipher = options == ["-aes256"] ? ["-v2", "aes256"] : options
      let output = try await ChildProcess.run(
        "openssl", arguments + cipher + (cipher[0] == "-v1" ? ["-provider", "legacy", "-provider", "default"] : []),
        folder: material.folder.url)
      expect(output.exit, is: .status(0), "\(output.standardError)")
    }
    let locked = try String(contentsOfFile: material.folder.path("locked.key"), encoding: .utf8)
    try material.folder.writeSecret("push.pem", locked + material.identity.certificateChainPEM)
    expect(isSame(try material.read("push.pem"), material.identity))
    expect(material.problem("push.pem", "wrong"), is: .wrongPassphrase)
    expect(material.problem("push.pem", nil), is: .passphraseMissing)
  }

  @Test(arguments: [(0o604, "every user"), (0o620, "other than its owner can change"), (0o644, "mode 0644")])
  func fileThatOthersCanReadOrChangeIsRefused(mode: Int, says: String) throws {
    let material = try Material()
    for file in ["key.pem", "pass"] {
      try material.protect(file, mode: mode)
      let error = #expect(throws: IdentityError.self) { try material.read("key.pem") }
      expect(error?.problem, is: .file(.exposed(mode: UInt32(mode))))
      expect(error?.description.contains(says), is: true)
      expect(error?.description.contains("chmod 600 \(material.folder.path(file))"), is: true)
      try material.protect(file)
    }
  }

  @Test func fileThatTheGroupCanReadIsTaken() throws {
    let material = try Material()
    try material.folder.writeSecret("push.pem", material.identity.certificateChainPEM + material.identity.privateKeyPEM)
    try material.protect("push.pem", mode: 0o440)
    expect(isSame(try material.read("push.pem", nil), material.identity))
  }

  @Test func factsAreThoseOfTheCertificate() throws {
    let authority = try ClientCertificateAuthority()
    let identity = try authority.issue(
      commonName: "Grüße", userID: "com.example.news", extensions: [("1.2.840.113635.100.6.3.2", [5, 0])],
      validity: -7200 ..< -3600)
    let facts = try CertificateFacts(pem: identity.certificateChainPEM)
    expect(facts.commonName, is: "Grüße")
    expect(facts.userID, is: "com.example.news")
    expect(facts.extensions["1.2.840.113635.100.6.3.2"], is: [5, 0])
    let now = Int64(Date.now.timeIntervalSince1970)
    expect(facts.validity.upperBound - facts.validity.lowerBound, is: 3600)
    // The certificate was created a moment ago.
    expect((0...600).contains(now - 3600 - facts.validity.upperBound))
  }
}
