import Logging
import PushCore
import PushTransport
import ServiceTools

/// Converts a tree of values into the typed configuration.
struct ConfigurationReader {
  /// The folder to which relative paths refer; empty for the working directory.
  private let directory: String
  private let services: KnownServices
  /// The keys of each section.
  let schema: ConfigurationSchema

  /// - Parameters:
  ///   - directory: the folder to which relative paths refer; empty for the working directory.
  ///   - services: the services that an app can use.
  init(directory: String, services: KnownServices = .all) {
    (self.directory, self.services) = (directory, services)
    schema = ConfigurationSchema(services)
  }

  /// A day in milliseconds.
  private static let day = 86_400_000

  func read(_ root: ConfigurationNode) throws(ConfigurationError) -> CarillonConfiguration {
    let top = try ConfigurationSection(root, path: "", keys: schema[""])
    let redis = try readRedis(try top.section("redis", keys: schema["redis"]))
    let apps = try readApps(try top.section("apps", keys: nil))
    return CarillonConfiguration(
      redis: redis, apps: apps, worker: try readWorker(try top.section("worker", keys: schema["worker"]), apps),
      retry: try readRetry(try top.section("retry", keys: schema["retry"])),
      guard: try readGuard(try top.section("guard", keys: schema["guard"])),
      admin: try readAdmin(try top.section("admin", keys: schema["admin"])),
      log: try readLog(try top.section("log", keys: schema["log"])),
      webhooks: try readWebhooks(try top.section("webhooks", keys: nil)))
  }

  private func readApps(_ section: ConfigurationSection) throws(ConfigurationError) -> [String: CarillonConfiguration
    .App]
  {
    guard !section.keys.isEmpty else {
      throw ConfigurationError(
        key: "apps", message: "has no apps", origin: section.origin, hint: "Config/carillon.yaml has an example")
    }
    var apps: [String: CarillonConfiguration.App] = [:]
    for name in section.keys {
      guard Self.isName(name) else {
        throw section.error(name, "the name of an app must be \(Self.nameForm)")
      }
      apps[name] = try readApp(try section.section(name, keys: nil))
    }
    return apps
  }

  private func readApp(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.App {
    try checkKeys(of: section)
    var known: [CarillonConfiguration.AppService] = []
    for tools in services.tools where section.has(tools.service.name) {
      let name = tools.service.name
      known.append(try readService(try section.section(name, keys: schema["apps.*.\(name)"]), tools))
    }
    guard !known.isEmpty else {
      throw ConfigurationError(
        key: section.path, message: "has no push service", origin: section.origin,
        hint: "add a section with the settings of a service: \(services.names.joined(separator: ", "))")
    }
    return CarillonConfiguration.App(
      services: known,
      lastDeviceOnly: try section.boolean("lastDeviceOnly"),
      control: try readControl(section),
      caps: try readCaps(section),
      approvalAbove: try readApproval(section),
      backend: try readBackend(section, known))
  }

  /// Checks the keys of an app. A key of a push service that is not in the section of the service gets an error message
  /// of its own.
  private func checkKeys(of section: ConfigurationSection) throws(ConfigurationError) {
    for key in section.keys where !schema["apps.*"].contains(key) {
      guard let tools = services.tools.first(where: { schema["apps.*.\($0.service.name)"].contains(key) }) else {
        continue
      }
      throw section.error(
        key, "belongs to a push service", hint: "move it into the section \(section.path).\(tools.service.name)")
    }
    try section.check(keys: schema["apps.*"])
  }

  private func readService(
    _ section: ConfigurationSection, _ tools: any PushServiceTools
  ) throws(ConfigurationError) -> CarillonConfiguration.AppService {
    CarillonConfiguration.AppService(
      configured: ConfiguredService(tools, try tools.settings(section, resolve: resolve)),
      trustRoots: try trustRoots(of: section), proxy: try readProxy(section), rate: try readRate(section),
      connections: section.has("connections") ? try section.integer("connections", in: 1...32, default: 2) : nil)
  }

  private func readApproval(_ section: ConfigurationSection) throws(ConfigurationError) -> Int? {
    guard section.has("approval") else { return nil }
    let approval = try section.section("approval", keys: schema["apps.*.approval"])
    guard let most = try approval.integer("above", in: 0...1_000_000_000) else {
      throw approval.error(
        "above", "is missing", hint: "set the number of targets above which a campaign needs approval")
    }
    return most
  }

  private func readCaps(_ section: ConfigurationSection) throws(ConfigurationError) -> [FrequencyCap] {
    var caps: [FrequencyCap] = []
    for entry in try section.sections("caps", keys: schema["apps.*.caps[]"]) {
      let category = try entry.string("category")
      if let category, !PlainName.isValid(category) {
        throw entry.error(
          "category", "\(Excerpt.quoted(category)) can't name a category", hint: "it must be \(PlainName.form)")
      }
      let text = try entry.required("per", hint: "set the duration, such as 1d or 7d")
      guard let seconds = DurationText.seconds(text), FrequencyCap.spans.contains(seconds) else {
        throw entry.error("per", "\(Excerpt.quoted(text)) is not a duration from 1m to 366d", hint: "such as 1d or 7d")
      }
      guard let most = try entry.integer("most", in: 1...FrequencyCap.maximumSum) else {
        throw entry.error("most", "is missing", hint: "set the maximum number of campaigns for a user")
      }
      caps.append(FrequencyCap(category: category, most: most, seconds: seconds))
    }
    guard caps.count <= FrequencyCap.maximumOfApp else {
      throw section.error("caps", "has \(caps.count) caps, more than the limit of \(FrequencyCap.maximumOfApp)")
    }
    let together = caps.reduce(0) { $0 + $1.most }
    guard together <= FrequencyCap.maximumSum else {
      throw section.error(
        "caps", "together allow \(together) campaigns per user, more than the limit of \(FrequencyCap.maximumSum)",
        hint: "lower `most` of some caps, or remove some")
    }
    return caps
  }

  func readRate(_ section: ConfigurationSection) throws(ConfigurationError) -> Double? {
    guard let text = try section.string("rate") else { return nil }
    guard let rate = Double(text), CampaignRate.isValid(rate) else {
      throw section.error(
        "rate", "\(Excerpt.quoted(text)) is not a rate: it must be \(CampaignRate.form)",
        hint: "omit it to send as fast as possible")
    }
    return rate
  }

  private func readControl(_ section: ConfigurationSection) throws(ConfigurationError) -> Double? {
    guard let text = try section.string("control") else { return nil }
    guard let share = Double(text), ControlGroup.isValid(share) else {
      throw section.error(
        "control", "\(Excerpt.quoted(text)) is not a share of the users: it must be \(ControlGroup.form)",
        hint: "omit it for no control group")
    }
    return share
  }

  private func readProxy(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.Proxy? {
    guard section.has("proxy") else { return nil }
    let proxy = try section.section("proxy", keys: ConfigurationSchema.proxy)
    let url = try proxy.required("url", hint: "such as http://proxy.example.com:3128")
    guard !url.contains("@") else {
      // The URL contains a password, so the message does not repeat it.
      throw proxy.error(
        "url", "must not have a user name or password",
        hint: "Write user:password into a file, and name it in credentialsFile.")
    }
    let scheme = url.hasPrefix("http://") ? "http://" : "https://"
    guard url.hasPrefix(scheme), EndpointAddress(url: "https://" + url.dropFirst(scheme.count)) != nil
    else {
      throw proxy.error("url", "\(Excerpt.quoted(url)) is not http://HOST:PORT or https://HOST:PORT")
    }
    return CarillonConfiguration.Proxy(
      url: url, credentialsFile: try proxy.string("credentialsFile").map(resolve))
  }

  private func readWorker(
    _ section: ConfigurationSection, _ apps: [String: CarillonConfiguration.App]
  ) throws(ConfigurationError) -> CarillonConfiguration.Worker {
    let engine = try section.choice("engine", default: PushEngineKind.native)
    if engine == .native,
      let (name, _) = apps.first(where: { _, app in
        app.services.contains { $0.proxy.map { !$0.url.hasPrefix("http://") } ?? false }
      })
    {
      throw section.error(
        "engine",
        "native\(section.has("engine") ? "" : ", the default,") supports only http:// proxies; "
          + "the proxy of apps.\(name) has another scheme",
        hint: "set worker.engine to curl, which supports all proxies")
    }
    return CarillonConfiguration.Worker(
      engine: engine,
      connections: try section.integer("connections", in: 1...32, default: 2),
      window: try section.integer("window", in: 1...100_000, default: 1000),
      answerTimeout: try section.duration("answerTimeout", in: 1000...300_000, default: 30_000),
      deadline: try section.duration("deadline", in: 1000...Self.day, default: 20_000),
      zoneinfo: try section.string("zoneinfo").map(resolve))
  }

  private func readRetry(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.Retry {
    let retry = CarillonConfiguration.Retry(
      firstServerError: try section.duration("firstServerError", in: 100...Self.day, default: 5000),
      serverError: try section.duration("serverError", in: 1000...Self.day, default: 900_000),
      tooManyRequests: try section.duration("tooManyRequests", in: 100...3_600_000, default: 2000),
      attempts: try section.integer("attempts", in: 1...20, default: 5),
      longest: try section.duration("longest", in: 1000...Self.day, default: 3_600_000),
      jitter: try section.share("jitter", orNone: true, default: 0.1))
    for (key, wait) in [("serverError", retry.serverError), ("tooManyRequests", retry.tooManyRequests)]
    where wait > retry.longest {
      throw section.error(
        key, "is longer than retry.longest", hint: "raise retry.longest, the maximum of all waits")
    }
    return retry
  }

  private func readGuard(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.Guard {
    CarillonConfiguration.Guard(
      threshold: try section.share("threshold", default: 0.1),
      pruneShare: try section.share("pruneShare", default: 0.5),
      minimum: try section.integer("minimum", in: 1...1_000_000, default: 200))
  }

  private func readWebhooks(
    _ section: ConfigurationSection
  ) throws(ConfigurationError) -> [String: CarillonConfiguration.WebhookTarget] {
    var webhooks: [String: CarillonConfiguration.WebhookTarget] = [:]
    for name in section.keys {
      guard Self.isName(name) else {
        throw section.error(name, "the name of a webhook must be \(Self.nameForm)")
      }
      webhooks[name] = try readWebhook(try section.section(name, keys: schema["webhooks.*"]))
    }
    return webhooks
  }

  private func readWebhook(
    _ section: ConfigurationSection
  ) throws(ConfigurationError) -> CarillonConfiguration.WebhookTarget {
    let allowsPrivate = try section.boolean("allowPrivate")
    let url = try section.required("url", hint: "such as https://example.com/hooks/carillon")
    guard !url.contains("@") else {
      // The URL contains a password, so the message does not repeat it.
      throw section.error(
        "url", "must not have a user name or password", hint: "Receivers recognise Carillon by the signature.")
    }
    let schemes = allowsPrivate ? ["https://", "http://"] : ["https://"]
    guard let scheme = schemes.first(where: url.hasPrefix), url.count > scheme.count,
      url.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw section.error(
        "url", "\(Excerpt.quoted(url)) is not an https:// URL",
        hint: "use https://; for a local network, allowPrivate: true allows http://")
    }
    var kinds: Set<Webhook.Kind> = []
    for word in (try section.string("events") ?? "campaigns, alarms").split(separator: ",") {
      let word = String(word.filter { $0 != " " })
      guard let kind = Webhook.Kind(rawValue: word) else {
        throw section.error(
          "events", "unknown event \(Excerpt.quoted(word))",
          hint: "use campaigns, alarms, or both with a comma between them")
      }
      kinds.insert(kind)
    }
    return CarillonConfiguration.WebhookTarget(
      url: url,
      secretFile: resolve(try section.required("secretFile", hint: "a file with the signing secret in its first line")),
      kinds: kinds, allowsPrivate: allowsPrivate, trustRoots: try trustRoots(of: section))
  }

  private func readLog(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.Log {
    var log = CarillonConfiguration.Log()
    log.isJSON = try section.choice("format", default: LogFormat.text) == .json
    log.level = try section.choice("level", default: log.level)
    let modules = try section.section("modules", keys: schema["log.modules"])
    for key in modules.keys where modules.has(key) { log.modules[key] = try modules.choice(key, default: log.level) }
    return log
  }

  private enum LogFormat: String, CaseIterable {
    case text, json
  }

  func resolve(_ path: String) -> String {
    path.hasPrefix("/") || directory.isEmpty ? path : directory + "/" + path
  }

  static let nameForm = "1 to 64 of A-Z a-z 0-9 _ -"

  /// Returns whether a text is a valid name in the configuration. A dot is not allowed, because dots separate keys.
  static func isName(_ name: String) -> Bool { PlainName.isValid(name) && !name.contains(".") }
}
