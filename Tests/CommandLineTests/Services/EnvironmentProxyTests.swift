import TestKit
import TestSupport
import Testing

@testable import CommandSupport

struct EnvironmentProxyTests {
  @Test(arguments: [
    (["https_proxy": "http://p:1"], "https_proxy"), (["HTTPS_PROXY": "http://p:1"], "HTTPS_PROXY"),
    (["ALL_PROXY": "socks5://p:1"], "ALL_PROXY"), (["https_proxy": "", "all_proxy": "p:1"], "all_proxy"),
    (["http_proxy": "http://p:1"], nil), (["https_proxy": ""], nil), ([:], nil),
  ])
  func proxyIsFoundInTheVariablesOfLibcurl(environment: [String: String], variable: String?) {
    expect(EnvironmentProxy(environment)?.variable, is: variable)
  }

  @Test(arguments: [
    ("", "api.push.apple.com", true), ("push.apple.com", "api.push.apple.com", false),
    ("PUSH.apple.com", "api.push.Apple.com", false), (".apple.com,localhost", "api.push.apple.com", false),
    ("ush.apple.com", "api.push.apple.com", true), ("localhost 127.0.0.1", "127.0.0.1", false),
    ("10.0.0.1", "127.0.0.1", true), ("*", "api.push.apple.com", false),
  ])
  func exceptionsBypassTheProxy(exceptions: String, host: String, isServed: Bool) throws {
    let proxy = try #require(EnvironmentProxy(["https_proxy": "http://p:1", "no_proxy": exceptions]))
    expect(proxy.serves(host: host), is: isServed)
  }

  @Test func workerThatIgnoresTheProxyDoesNotStart() async throws {
    let world = try await CarillonWorld()
    func worker(_ environment: [String: String]) async throws -> ChildProcess.Output {
      try await CarillonCommand.run(
        ["worker", "--drain"], environment: world.environment.merging(environment) { $1 })
    }
    let refused = try await worker(["https_proxy": "http://me:secret@127.0.0.1:1"])
    expect(refused.exit, is: .status(65))
    for part in [
      "worker.engine: the engine native ignores https_proxy, and apps.news.apns has no proxy",
      "apps.news.apns.proxy.url",
      "set worker.engine to curl", "add 127.0.0.1 to no_proxy",
    ] { expect(refused.standardError.contains(part), "\(part) in \(refused.standardError)") }
    expect(!refused.standardError.contains("secret"))
    // The other workers end immediately because they have nothing to send.
    for way in [
      ["CARILLON_WORKER_ENGINE": "curl"], ["no_proxy": "127.0.0.1"],
      ["CARILLON_APPS_NEWS_APNS_PROXY_URL": "http://127.0.0.1:1"],
    ] {
      let output = try await worker(way.merging(["https_proxy": "http://127.0.0.1:1"]) { $1 })
      expect(output.exit, is: .status(0), "\(way): \(output.standardError)")
    }
  }
}
