import PushTransport
import APNs
import Foundation
import PushCore
import PushWorker
import ServiceTools
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// Returns the smallest valid configuration, with `more` lines at its end.
private func yaml(_ more: String = "", app: String = "") -> String {
  """
  redis:
    url: redis://127.0.0.1:6379/0
  apps:
    news:
      apns:
        topic: com.example.news
        token: { keyFile: AuthKey_ABC123DEFG.p8, keyID: ABC123DEFG, teamID: DEF123GHIJ }
  \(app)
  \(more)
  """
}

private func read(
  _ text: String, environment: [String: String] = [:], directory: String = "/etc/carillon"
) throws -> CarillonConfiguration {
  var root = try ConfigurationNode.parse(yaml: text, file: "carillon.yaml")
  try EnvironmentOverlay.apply(environment, to: &root)
  return try ConfigurationReader(directory: directory).read(root)
}

struct ConfigurationTests {
  @Test func fillsInTheDefaults() throws {
    let configuration = try read(yaml())
    expect(
      configuration.redis,
      is: .init(
        url: "redis://127.0.0.1:6379/0", namespace: "carillon", partitions: nil, feedbackLength: 1_000_000,
        devicesPerUser: 100))
    expect(
      configuration.apps,
      is: [
        "news": .init(
          services: [
            CarillonConfiguration.AppService(
              configured: ConfiguredService(
                APNsTools(),
                APNsSettings(
                  path: "apps.news.apns", topic: "com.example.news", environment: .production,
                  credential: .token(
                    .init(keyFile: "/etc/carillon/AuthKey_ABC123DEFG.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ")),
                  endpoint: nil, port: 443)))
          ])
      ])
    expect(
      configuration.worker,
      is: .init(
        engine: .native, connections: 2, window: 1000, answerTimeout: .seconds(30), deadline: .seconds(20)))
    expect(
      configuration.retry,
      is: .init(
        firstServerError: .seconds(5), serverError: .seconds(900), tooManyRequests: .seconds(2), attempts: 5,
        longest: .seconds(3600), jitter: 0.1))
    expect(configuration.guard, is: .init(threshold: 0.1, pruneShare: 0.5, minimum: 200))
  }

  @Test func readsEveryKey() throws {
    let configuration = try read(
      yaml(
        """
        worker: { engine: curl, connections: 8, window: 500, answerTimeout: 5s, deadline: 1m }
        retry: { firstServerError: 300ms, serverError: 2s, tooManyRequests: 100ms, attempts: 3, longest: 10m, jitter: 0 }
        guard: { threshold: 0.2, pruneShare: 1, minimum: 10 }
        """,
        app: """
                environment: sandbox
                endpoint: https://127.0.0.1:2197
                trustRoots: /tmp/ca.pem
          """))
    expect(configuration.apps["news"]?.apns?.environment, is: .sandbox)
    expect(configuration.apps["news"]?.apns?.endpoint, is: .init(host: "127.0.0.1", port: 2197))
    expect(configuration.apps["news"]?["apns"]?.trustRoots, is: "/tmp/ca.pem")
    expect(
      configuration.worker,
      is: .init(
        engine: .curl, connections: 8, window: 500, answerTimeout: .seconds(5), deadline: .seconds(60)))
    expect(
      configuration.retry,
      is: .init(
        firstServerError: .milliseconds(300), serverError: .seconds(2), tooManyRequests: .milliseconds(100),
        attempts: 3, longest: .seconds(600), jitter: 0))
    expect(configuration.guard, is: .init(threshold: 0.2, pruneShare: 1, minimum: 10))
  }

  @Test func anAppHasACertificateInsteadOfAToken() throws {
    let configuration = try read(
      """
      apps:
        news:
          apns:
            topic: com.example.news
            certificate: { file: push.p12, passphraseFile: /run/secrets/push.pass }
            port: 2197
            rate: 2500.5
            proxy: { url: "http://proxy.example.com:3128", credentialsFile: proxy.login }
          caps: [{ category: offers, most: 3, per: 7d }, { most: 5, per: 1d }]
          approval: { above: 100000 }
          control: 0.02
          backend: { healthURL: "http://10.0.0.5:8080/health", slowAfter: 500ms, leastShare: 0.25 }
      """)
    let app = try #require(configuration.apps["news"])
    expect(
      app.apns?.credential,
      is: .certificate(.init(file: "/etc/carillon/push.p12", passphraseFile: "/run/secrets/push.pass")))
    expect(app.apns?.port, is: 2197)
    expect(app["apns"]?.rate, is: 2500.5)
    expect(app.approvalAbove, is: 100_000)
    expect(
      app.caps,
      is: [
        FrequencyCap(category: "offers", most: 3, seconds: 7 * 86_400), FrequencyCap(most: 5, seconds: 86_400),
      ])
    expect(app.control, is: 0.02)
    expect(
      app.backend,
      is: AppBackend(
        check: HealthCheck(url: "http://10.0.0.5:8080/health", slowAfter: 500, timeout: 5000), interval: 5000,
        rate: 2500.5, leastShare: 0.25))
    expect(
      app["apns"]?.proxy, is: .init(url: "http://proxy.example.com:3128", credentialsFile: "/etc/carillon/proxy.login"))
  }

  /// Invalid files, and the parts of their errors: key and message, place, hint.
  static let mistakes: [(yaml: String, says: [String])] = [
    (yaml("worker: { windw: 5 }"), ["worker.windw: unknown key", "carillon.yaml line 9", "did you mean 'window'?"]),
    (yaml("wroker: {}"), ["wroker: unknown key", "did you mean 'worker'?"]),
    (yaml(app: "      topics: x"), ["apps.news.apns.topics: unknown key", "line 8", "did you mean 'topic'?"]),
    (yaml("worker: 5"), ["worker: must be a section"]),
    (yaml("worker: [1]"), ["worker: must be a section"]),
    (yaml("worker: { window: [1] }"), ["worker.window: must be a single value"]),
    (yaml("worker: { window: many }"), ["worker.window: 'many' is not a whole number from 1 to 100000"]),
    (yaml("worker: { window: 0 }"), ["'0' is not a whole number from 1 to 100000"]),
    (
      yaml("worker: { engine: native }", app: "      proxy: { url: 'https://proxy.example.com' }"),
      ["worker.engine: native supports only http:// proxies", "apps.news", "set worker.engine to curl"]
    ),
    (
      yaml(app: "      proxy: { url: 'https://proxy.example.com' }"),
      ["worker.engine: native, the default, supports only http:// proxies", "apps.news", "set worker.engine to curl"]
    ),
    (yaml("worker: { engine: culr }"), ["worker.engine: unknown value 'culr'", "did you mean 'curl'?"]),
    (yaml("worker: { deadline: 20 }"), ["worker.deadline: '20' is not a duration"]),
    (yaml("retry: { tooManyRequests: 50ms }"), ["retry.tooManyRequests: '50ms' is not from 100ms to 1h"]),
    (yaml("retry: { longest: 2d }"), ["retry.longest: '2d' is not from 1s to 1d"]),
    (yaml("retry: { longest: 5m }"), ["retry.serverError: is longer than retry.longest", "raise retry.longest"]),
    (yaml("retry: { jitter: 2 }"), ["retry.jitter: '2' is not a share from 0 to 1"]),
    (yaml("retry: { jiter: 0 }"), ["retry.jiter: unknown key", "did you mean 'jitter'?"]),
    (yaml(app: "      rate: 0"), ["apps.news.apns.rate: '0' is not a rate", "above 0, and at most 1,000,000"]),
    (yaml(app: "      rate: many"), ["apps.news.apns.rate: 'many' is not a rate"]),
    (yaml(app: "    caps: { most: 1, per: 1d }"), ["apps.news.caps: must be a list", "begin each entry with a dash"]),
    (yaml(app: "    caps: [{ mots: 1 }]"), ["apps.news.caps[0].mots: unknown key", "line 8", "did you mean 'most'?"]),
    (yaml(app: "    caps: [{ most: 1, per: 1d }, { most: 1 }]"), ["apps.news.caps[1].per: is missing"]),
    (yaml(app: "    caps: [{ most: 1, per: 10s }]"), ["apps.news.caps[0].per: '10s' is not a duration from 1m"]),
    (yaml(app: "    caps: [{ per: 1d }]"), ["apps.news.caps[0].most: is missing"]),
    (yaml(app: "    caps: [{ most: 0, per: 1d }]"), ["'0' is not a whole number from 1 to 255"]),
    (yaml(app: "    caps: [{ most: 200, per: 1d }, { most: 56, per: 7d }]"), ["together allow 256 campaigns per user"]),
    (yaml(app: "    caps: [{ category: 'a b', most: 1, per: 1d }]"), ["'a b' can't name a category"]),
    (yaml(app: "    approval: { over: 5 }"), ["apps.news.approval.over: unknown key"]),
    (yaml(app: "    backend: { rate: 5 }"), ["apps.news.backend.healthURL: is missing"]),
    (
      yaml(app: "    backend: { healthURL: 'http://a.b/h' }"),
      ["apps.news.backend.rate: is missing, and a push service of the app has no rate either"]
    ),
    (yaml(app: "    backend: { healthURL: 'a.b/h', rate: 5 }"), ["'a.b/h' is not an http:// or https:// URL"]),
    (
      yaml(app: "    backend: { healthURL: 'http://u:p@a.b/h', rate: 5 }"),
      ["healthURL: must not contain a user name and password"]
    ),
    (
      yaml(app: "    backend: { healthURL: 'http://a.b/h', rate: 5, slowAfter: 9s }"),
      ["apps.news.backend.slowAfter: must be shorter than timeout", "raise timeout"]
    ),
    (
      yaml(app: "    backend: { healthURL: 'http://a.b/h', rate: 5, every: 1ms }"),
      ["backend.every: '1ms' is not from 1s to 30s"]
    ),
    (
      yaml(app: "    backend: { healthURL: 'http://a.b/h', rate: 5, leastShare: 0 }"),
      ["backend.leastShare: '0' is not a share above 0"]
    ),
    (yaml(app: "    backend: { healthUrl: 'http://a.b/h' }"), ["healthUrl: unknown key", "did you mean 'healthURL'?"]),
    (yaml(app: "    approval: { above: -1 }"), ["apps.news.approval.above: '-1' is not a whole number from 0"]),
    (yaml(app: "    control: 1"), ["apps.news.control: '1' is not a share of the users", "above 0 and below 1"]),
    (yaml("guard: { threshold: 10 }"), ["guard.threshold: '10' is not a share"]),
    (yaml("guard: { threshold: 0 }"), ["guard.threshold: '0' is not a share"]),
    (yaml("admin: { listen: nowhere }"), ["admin.listen"]),
    (
      yaml(app: "      certificate: { file: push.p12 }"),
      ["apps.news.apns.certificate: can't be used together with a token", "keep one"]
    ),
    (
      "apps: { news: { apns: { topic: a, certificate: { fil: x } } } }",
      ["certificate.fil: unknown key", "did you mean 'file'?"]
    ),
    (
      "apps: { news: { apns: { topic: a, certificate: { passphraseFile: x } } } }",
      ["apps.news.apns.certificate.file: is missing"]
    ),
    (
      yaml(app: "      proxy: { url: 'http://me:secret@proxy:3128' }"),
      ["proxy.url: must not have a user name", "credentialsFile"]
    ),
    (yaml(app: "      proxy: { url: 'socks5://proxy' }"), ["proxy.url: 'socks5://proxy' is not http://HOST:PORT"]),
    (yaml(app: "      proxy: { credentialsFile: x }"), ["apps.news.apns.proxy.url: is missing"]),
    (yaml(app: "      port: 0"), ["apps.news.apns.port: '0' is not a whole number from 1 to 65535"]),
    (
      yaml(app: "      port: 2197\n      endpoint: https://a"),
      ["apps.news.apns.port: is for Apple's servers", "into endpoint"]
    ),
    (yaml(app: "      environment: prod"), ["apps.news.apns.environment: unknown value 'prod'", "production"]),
    (yaml(app: "    fmc: {}"), ["apps.news.fmc: unknown key", "line 8", "did you mean 'fcm'?"]),
    (yaml(app: "    topic: x"), ["apps.news.topic: belongs to a push service", "line 8", "section apps.news.apns"]),
    ("apps: { news: { control: 0.1 } }", ["apps.news: has no push service", "line 1", "apns, fcm"]),
    (yaml(app: "      endpoint: http://127.0.0.1:2197"), ["apps.news.apns.endpoint", "is not https://HOST"]),
    (yaml(app: "      endpoint: https://127.0.0.1:0"), ["apps.news.apns.endpoint"]),
    (yaml(app: "      endpoint: https://a/b"), ["apps.news.apns.endpoint"]),
    (yaml("redis: {}"), ["not valid YAML: line 1: the section that begins here has the same key twice: 'redis'"]),
    ("redis: { url: 'http://user:secret@x' }", ["redis.url: must begin with redis://"]),
    (
      "redis: { tls: { trustRoots: ca.pem } }",
      ["redis.tls: can't be combined with a URL without TLS", "use rediss://"]
    ),
    (
      "redis: { url: 'rediss://h', tls: { certificate: c.pem } }",
      ["redis.tls.certificate: needs a key too", "set both"]
    ),
    ("redis: { url: 'rediss://h', tls: { key: c.key } }", ["redis.tls.key: needs a certificate too"]),
    (
      "redis: { sentinel: { passwordFile: p } }",
      ["redis.sentinel: can't be combined with a URL without sentinels"]
    ),
    (
      "redis: { url: 'sentinel://h/m', sentinel: { user: u } }", ["redis.sentinel.user: has no password"]
    ),
    ("redis: { cluster: { addresses: 'a:1=b:2' } }", ["redis.cluster: can't be combined with a URL without a cluster"]),
    (
      "redis: { url: 'cluster://h', cluster: { addresses: 'a:1=b:2, a:1=b:3' } }",
      ["redis.cluster.addresses: a:1 is listed twice"]
    ),
    (
      "redis: { url: 'cluster://h', cluster: { addresses: 'a:1 b:2' } }",
      ["redis.cluster.addresses: 'a:1 b:2' is not ANNOUNCED=REACHED", "such as"]
    ),
    ("redis: { url: 'rediss://h', tls: { ca: c.pem } }", ["redis.tls.ca: unknown key"]),
    ("redis: { namespace: 'a{b}' }", ["redis.namespace: 'a{b}' is not 1 to 64"]),
    ("redis: { partitions: 0 }", ["redis.partitions: '0' is not a whole number from 1 to 16384"]),
    ("apps: { news: { apns: { token: {} } } }", ["apps.news.apns.topic: is missing", "line 1", "bundle id"]),
    ("apps: { news: { apns: { topic: 'a b' } } }", ["apps.news.apns.topic: 'a b' is not a bundle id"]),
    ("apps: { news: { apns: { topic: a } } }", ["apps.news.apns.token.keyFile: is missing"]),
    (
      "apps: { news: { apns: { topic: a, token: { keyFile: k, keyID: short } } } }",
      ["apps.news.apns.token.keyID: 'short' is not ten"]
    ),
    ("apps: { a.b: {} }", ["apps.a.b: the name of an app must be"]),
    ("redis: {}", ["apps: has no apps"]),
    ("", ["apps: has no apps"]),
    ("- a", ["must be a section"]),
    ("redis: { url: 'x", ["not valid YAML: line 1"]),
    ("redis:\n\turl: x", ["not valid YAML: line 2"]),
  ]

  @Test(arguments: mistakes)
  func saysWhatIsWrongAndWhere(yaml: String, says: [String]) {
    let error = #expect(throws: ConfigurationError.self) { try read(yaml) }
    let text = (error?.description ?? "") + " " + (error?.hint ?? "")
    for part in says { expect(text.contains(part), "\(text)") }
    expect(!text.contains("secret"))
  }

  @Test func theEnvironmentOverridesTheFile() throws {
    let configuration = try read(
      yaml(),
      environment: [
        "CARILLON_REDIS_URL": "redis://elsewhere", "CARILLON_WORKER_WINDOW": "7",
        "CARILLON_APPS_NEWS_APNS_TOKEN_KEY_FILE": "keys/other.p8", "CARILLON_RETRY_TOO_MANY_REQUESTS": "5s",
        "CARILLON_APPS_NEWS_APNS_TRUST_ROOTS": "", "CARILLON_CONFIG": "x", "CARILLON_TEST_SEED": "1", "HOME": "/",
      ])
    expect(configuration.redis.url, is: "redis://elsewhere")
    expect(configuration.worker.window, is: 7)
    expect(configuration.apps["news"]?.apns?.credentialFiles, is: ["/etc/carillon/keys/other.p8"])
    expect(configuration.apps["news"]?["apns"]?.trustRoots, is: nil)
    expect(configuration.retry.tooManyRequests, is: .seconds(5))
  }

  @Test(arguments: [
    ("CARILLON_REDSI_URL", "x", "did you mean CARILLON_REDIS_URL?"),
    ("CARILLON_CONFG", "x", "did you mean CARILLON_CONFIG?"),
    ("CARILLON_APPS_SPORT_APNS_TOPIC", "x", "apps in the configuration file: news"),
    ("CARILLON_X", "x", "named after keys"),
    ("CARILLON_WORKER_WINDOW", "many", "in environment variable CARILLON_WORKER_WINDOW"),
  ])
  func aWrongVariableIsNamed(name: String, value: String, says: String) {
    let error = #expect(throws: ConfigurationError.self) { try read(yaml(), environment: [name: value]) }
    let text = (error?.description ?? "") + " " + (error?.hint ?? "")
    expect(text.contains(name) && text.contains(says), "\(text)")
  }

  @Test func aVariableThatCouldMeanTwoAppsIsRefused() {
    let text = """
      apps:
        late-news: { apns: { topic: a, token: { keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ } } }
        lateNews: { apns: { topic: b, token: { keyFile: k, keyID: ABC123DEFG, teamID: DEF123GHIJ } } }
      """
    let error = #expect(throws: ConfigurationError.self) {
      try read(text, environment: ["CARILLON_APPS_LATE_NEWS_APNS_TOPIC": "c"])
    }
    expect(error?.message.contains("can mean apps.late-news.apns.topic and apps.lateNews.apns.topic"), is: true)
  }

  @Test(arguments: [
    (["redis", "url"], "CARILLON_REDIS_URL"),
    (["retry", "tooManyRequests"], "CARILLON_RETRY_TOO_MANY_REQUESTS"),
    (["apps", "news", "apns", "token", "keyID"], "CARILLON_APPS_NEWS_APNS_TOKEN_KEY_ID"),
    (["apps", "late-news", "apns", "trustRoots"], "CARILLON_APPS_LATE_NEWS_APNS_TRUST_ROOTS"),
    (["apps", "news2go", "apns", "topic"], "CARILLON_APPS_NEWS2GO_APNS_TOPIC"),
  ])
  func variablesAreNamedAfterKeys(path: [String], name: String) {
    expect(EnvironmentOverlay.variable(of: path), is: name)
  }

  @Test func everyKeyCanBeSetByTheEnvironmentAndIsDocumented() throws {
    let readme = try String(contentsOf: folder.appending(path: "README.md"), encoding: .utf8)
    for path in ConfigurationSchema(.all).paths(apps: ["NAME"], webhooks: ["NAME"]) {
      expect(readme.contains("| `\(path.joined(separator: "."))` |"), "\(path)")
    }
    // No key accepts this value. The error names the key, which shows that the reader knows the key.
    // Names of files and users are checked only when they are used. `RedisAccessTests` reads `redis.tls` and
    // `redis.sentinel`.
    let names = [
      "trustRoots", "keyFile", "file", "passphraseFile", "credentialsFile", "passwordFile", "user", "zoneinfo",
      "tokenFile", "certificate", "key", "serviceAccountFile",
    ]
    for path in ConfigurationSchema(.all).paths(apps: ["news"])
    where !names.contains(path.last ?? "") && !path.starts(with: ["redis", "tls"])
      && !path.starts(with: ["redis", "sentinel"])
    {
      let name = EnvironmentOverlay.variable(of: path)
      let error = #expect(throws: ConfigurationError.self, "\(name)") {
        try read(yaml(app: "    fcm: { serviceAccountFile: account.json }"), environment: [name: "no {way}"])
      }
      expect(error?.key, is: path.joined(separator: "."))
    }
  }

  @Test(arguments: GuidePage.all) func configurationsOfTheGuideAreRead(page: GuidePage) throws {
    let app = "apps:\n  news:\n"
    for block in page.blocks where block.kind == "yaml" {
      let text =
        block.text.hasPrefix(app) ? yaml(app: String(block.text.dropFirst(app.count))) : yaml(block.text)
      #expect(throws: Never.self, "\(page):\(block.line)") { try read(text) }
    }
  }

  @Test func theFilesOfTheRepositoryAreGood() throws {
    for name in ["carillon.yaml", "simulator.yaml"] {
      let file = folder.appending(path: name).path
      let configuration = try ConfigurationLoader(argument: file, environment: [:]).load()
      expect(configuration.apps["news"]?.apns?.topic, is: "com.example.news")
    }
    let full = folder.appending(path: "carillon.yaml").path
    let documented = try ConfigurationLoader(argument: full, environment: [:]).load()
    expect(documented.worker, is: (try read(yaml())).worker)
    expect(documented.retry, is: (try read(yaml())).retry)
    expect(documented.guard, is: (try read(yaml())).guard)
  }

  @Test func theFileIsFoundByArgumentThenEnvironment() throws {
    let scratch = try ScratchFolder()
    let first = try scratch.write("first.yaml", yaml("worker: { window: 1 }"))
    let second = try scratch.write("second.yaml", yaml("worker: { window: 2 }"))
    let environment = ["CARILLON_CONFIG": second]
    expect(try ConfigurationLoader(argument: first, environment: environment).load().worker.window, is: 1)
    expect(try ConfigurationLoader(argument: nil, environment: environment).load().worker.window, is: 2)
    let missing = scratch.path("none.yaml")
    let error = #expect(throws: ConfigurationError.self) {
      try ConfigurationLoader(argument: missing, environment: [:]).load()
    }
    expect(error?.message.contains("none.yaml: No such file or directory"), is: true)
  }

  private var folder: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Config")
  }
}
