import APNsSimulator
import PushCore
import TLS
import TestKit
import Testing

@testable import APNs

@Suite("Topics and environments of push certificates")
struct PushCertificateTests {
  private func certificate(_ identity: TLSIdentity) throws -> PushCertificate {
    PushCertificate(try CertificateFacts(pem: identity.certificateChainPEM))
  }

  @Test("topics come from the subject and the topic extension, environments from the other extensions")
  func lists() throws {
    let authority = try PushCertificateAuthority()
    let topics = ["com.example.news", "com.example.news.voip", "com.example.news.complication"]
    let both = try certificate(authority.issue(topic: topics[0], topics: topics))
    expect(both.topics, is: topics)
    expect(both.environments, is: [.sandbox, .production])
    expect(both.name, is: "Apple Push Services: com.example.news")
    let one = try certificate(authority.issue(topic: topics[0], environments: [.sandbox]))
    expect(one.topics, is: [topics[0]])
    expect(one.environments, is: [.sandbox])
    expect(one.covers(.sandbox))
    expect(!one.covers(.production))
    let silent = try certificate(authority.issue(topic: "com.apple.mgmt.External.1234", environments: []))
    expect(silent.covers(.production))
  }

  @Test("the environment of an old certificate follows from its name")
  func names() throws {
    let authority = try ClientCertificateAuthority()
    for (name, environments) in [
      ("Apple Development IOS Push Services: a.b", [PushCertificate.Environment.sandbox]),
      ("Apple Production IOS Push Services: a.b", [.production]), ("Apple Push Services: a.b", []),
      ("Pass Type ID: pass.a.b", []),
    ] {
      expect(try certificate(authority.issue(commonName: name, userID: "a.b")).environments, is: Set(environments))
    }
  }

  @Test("a bundle is covered by its topic, with or without a suffix, and by no topic of another bundle")
  func coverage() throws {
    let authority = try ClientCertificateAuthority()
    let news = try certificate(authority.issue(commonName: "x", userID: "com.example.news"))
    expect(news.covers(bundle: "com.example.news"))
    expect(!news.covers(bundle: "com.example.new"))
    expect(!news.covers(bundle: "com.example.news.beta"))
    let calls = try certificate(authority.issue(commonName: "VoIP Services: x", userID: "com.example.news.voip"))
    expect(calls.covers(bundle: "com.example.news"))
  }
}
