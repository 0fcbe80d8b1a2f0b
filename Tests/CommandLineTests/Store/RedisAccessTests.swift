import Foundation
import Redis
import TestKit
import TestSupport
import Testing

@testable import CommandSupport

/// Address, user and files for Redis, from the configuration and the environment.
struct RedisAccessTests {
  private func read(
    _ redis: String, environment: [String: String] = [:]
  ) throws -> CarillonConfiguration.Redis {
    let folder = try ScratchFolder("config")
    let file = try folder.write(
      "carillon.yaml",
      "redis: \(redis)\napps: { news: { apns: { topic: a, token: { keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ } } } }\n"
    )
    var redis = try ConfigurationLoader(argument: file, environment: environment).load().redis
    // The folder does not matter; the paths must be relative to it.
    let directory = folder.url.path + "/"
    func short(_ path: String?) -> String? { path.map { $0.replacing(directory, with: "@") } }
    redis.passwordFile = short(redis.passwordFile)
    if let tls = redis.tls {
      redis.tls = .init(
        trustRoots: short(tls.trustRoots), certificate: short(tls.certificate), key: short(tls.key),
        serverName: tls.serverName)
    }
    return redis
  }

  @Test func everyKeyIsReadAndPathsAreRelativeToTheFile() throws {
    let redis = try read(
      "{ url: 'rediss://h', user: u, passwordFile: p, "
        + "tls: { trustRoots: ca.pem, certificate: c.pem, key: /k.pem, serverName: redis.example } }")
    expect(redis.user == "u" && redis.passwordFile == "@p")
    let options = try RedisAccess(redis).options(RedisOptions())
    expect(options.passwordFile, is: "@p")
    expect(
      options.tls,
      is: RedisTLS(trustRoots: "@ca.pem", certificate: "@c.pem", key: "/k.pem", serverName: "redis.example"))
    let url = try RedisAccess(redis).url
    expect(url, is: RedisURL(isTLS: true, host: "h", user: "u"))
  }

  @Test func theEnvironmentSetsThemToo() throws {
    let redis = try read(
      "{ url: 'redis://h' }",
      environment: [
        "CARILLON_REDIS_URL": "rediss://other", "CARILLON_REDIS_USER": "u", "CARILLON_REDIS_PASSWORD_FILE": "p",
        "CARILLON_REDIS_TLS_TRUST_ROOTS": "ca.pem", "CARILLON_REDIS_TLS_SERVER_NAME": "n",
        "CARILLON_REDIS_TLS_CERTIFICATE": "c", "CARILLON_REDIS_TLS_KEY": "k",
      ])
    expect(redis.url == "rediss://other" && redis.user == "u" && redis.passwordFile == "@p")
    expect(redis.tls, is: .init(trustRoots: "@ca.pem", certificate: "@c", key: "@k", serverName: "n"))
  }

  @Test func serversOfAClusterMayBeReachedElsewhere() throws {
    let redis = try read(
      "{ url: 'cluster://a,b:7', tls: { trustRoots: /r } }",
      environment: ["CARILLON_REDIS_CLUSTER_ADDRESSES": "10.0.0.1:6379=nat:1, [::1]:7=nat:2"])
    let access = try RedisAccess(redis)
    expect(access.url.topology == .cluster && access.url.isTLS)
    let reached = access.options(RedisOptions()).cluster.addresses
    expect(
      reached,
      is: [
        RedisAddress(host: "10.0.0.1", port: 6379): RedisAddress(host: "nat", port: 1),
        RedisAddress(host: "::1", port: 7): RedisAddress(host: "nat", port: 2),
      ])
  }

  @Test func sentinelsHaveALoginAndTLSOfTheirOwn() throws {
    let plain = try read("{ url: 'sentinel://u:p@a,b/main/2', sentinel: { user: s, passwordFile: /sp } }")
    var access = try RedisAccess(plain)
    expect(!access.url.isTLS && access.url.user == "u" && access.url.database == 2)
    expect(access.options(RedisOptions()).sentinel, is: SentinelOptions(user: "s", passwordFile: "/sp"))
    let both = try read(
      "{ url: 'sentinel://a/main', tls: { trustRoots: /r }, sentinel: { tls: { trustRoots: /s } } }",
      environment: ["CARILLON_REDIS_SENTINEL_TLS_SERVER_NAME": "n", "CARILLON_REDIS_SENTINEL_PASSWORD_FILE": "/p"])
    access = try RedisAccess(both)
    expect(access.url.isTLS && access.options(RedisOptions()).tls.trustRoots == "/r")
    expect(
      access.options(RedisOptions()).sentinel,
      is: SentinelOptions(passwordFile: "/p", tls: RedisTLS(trustRoots: "/s", serverName: "n")))
  }

  @Test(arguments: [
    ("{ url: 'redis://:secret@h', passwordFile: p }", "redis.passwordFile: redis.url has a password too"),
    ("{ url: 'redis://u:secret@h', user: u }", "redis.user: redis.url has a user too"),
    ("{ url: 'redis://h', user: u }", "redis.user has no password"),
    ("{ url: 'redis://u@h' }", "redis.url: the URL can't be used: it has a user but no password"),
  ])
  func duplicateOrIncompleteSettingIsAnError(redis: String, says: String) throws {
    let redis = try read(redis)
    let error = #expect(throws: CommandError.self) { try RedisAccess(redis) }
    expect(error?.code == .configuration && error?.message.contains(says) == true)
    expect(error?.message.contains("secret"), is: false)
  }

  @Test func userOfTheConfigurationTakesThePasswordOfTheURL() throws {
    let url = try RedisAccess(read("{ url: 'redis://:secret@h', user: u }")).url
    expect(url.user == "u" && url.password == "secret")
  }
}
