package import Logging
package import PushTransport
package import PushCore
package import PushWorker
package import Redis
package import ServiceTools

/// The configuration, read and checked. What only shows in use, such as a key file that isn't there, is not checked here.
package struct CarillonConfiguration: Equatable {
  package var redis: Redis
  /// By the name that jobs use.
  package var apps: [String: App]
  package var worker: Worker
  package var retry: Retry
  package var `guard`: Guard
  /// Where this process serves health, metrics and API; `nil` for nowhere.
  package var admin: Admin?
  package var log = Log()
  /// By the name that status and alarms use.
  package var webhooks: [String: WebhookTarget] = [:]

  package struct Admin: Equatable {
    /// `nil` for nowhere, but for `carillon admin`, which then serves this machine at ``standard``.
    package var listen: ListenAddress?
    /// A file with the hashes of tokens.
    package var tokenFile: String?
    package var tls: AdminTLS?

    package static let standard = "127.0.0.1:8080"

    package init(listen: ListenAddress?, tokenFile: String? = nil, tls: AdminTLS? = nil) {
      self.listen = listen
      self.tokenFile = tokenFile
      self.tls = tls
    }
  }

  package struct AdminTLS: Equatable {
    /// A PEM file with the server's certificate, and those that lead to its root.
    package var certificate: String
    /// A PEM file with its key.
    package var key: String
  }

  /// Where somebody wants to be told of events.
  package struct WebhookTarget: Equatable {
    package var url: String
    /// A file whose first line is the key of the signature.
    package var secretFile: String
    package var kinds: Set<Webhook.Kind>
    /// Whether it may be on this machine or a local network.
    package var allowsPrivate = false
    /// A file of PEM certificates to trust instead of the system's.
    package var trustRoots: String?
  }

  /// How log lines are written, and which.
  package struct Log: Equatable {
    /// Whether each is a JSON object; `--json` prevails.
    package var isJSON = false
    /// The least grave level that is written; `--log-level` prevails.
    package var level = Logger.Level.info
    /// The same of single modules, by their names.
    package var modules: [String: Logger.Level] = [:]

    package init() {}
  }

  package struct Redis: Equatable {
    package var url: String
    /// The user to log in as, where the URL has none.
    package var user: String?
    /// A file whose first line is the password, where the URL has none.
    package var passwordFile: String?
    /// How TLS is set up; `nil` for as usual, and beside a URL that can't say it for none.
    package var tls: RedisTLS?
    /// How sentinels are asked, where the URL names some.
    package var sentinel = Sentinel()
    /// Where servers of a cluster are reached that announce other addresses.
    package var clusterAddresses: [RedisAddress: RedisAddress] = [:]
    /// What all keys begin with.
    package var namespace: String
    /// Fixed when the store is initialised.
    package var partitions: Int?
    /// Entries of the feedback list at most.
    package var feedbackLength: Int
    /// Devices of a user at most.
    package var devicesPerUser: Int
    /// Entries of the stream of events at most; 0 for none.
    package var streamLength = 0
  }

  package struct Sentinel: Equatable {
    /// The user to log in as.
    package var user: String?
    /// A file whose first line is the password.
    package var passwordFile: String?
    /// How TLS to them is set up; `nil` for none.
    package var tls: RedisTLS?
  }

  package struct RedisTLS: Equatable {
    /// A file of PEM certificates to trust instead of the system's.
    package var trustRoots: String?
    /// A PEM file with this client's certificate; never without a key.
    package var certificate: String?
    /// A PEM file with the key of the certificate.
    package var key: String?
    /// What the server's certificate must carry, where it is not the URL's host.
    package var serverName: String?
  }

  package struct App: Equatable {
    /// The push service, with the app's settings for it.
    package var service: ConfiguredService
    /// A file of PEM certificates to trust instead of the system's.
    package var trustRoots: String?
    /// An HTTP proxy on the way to the push service.
    package var proxy: Proxy?
    /// Whether a user has one device of it only, the one where a login was last.
    package var lastDeviceOnly = false
    /// Pushes a second of all its campaigns together, over all workers; `nil` for as fast as it goes.
    package var rate: Double?
    /// The share of the app's users who get nothing of it but what is transactional; `nil` for none.
    package var control: Double?
    /// How often its campaigns come to a user at most.
    package var caps: [FrequencyCap] = []
    /// Targets above which a campaign waits for somebody's approval; `nil` for never.
    package var approvalAbove: Int?
    /// The app's own backend, whose health says how fast its campaigns go; `nil` for none.
    package var backend: AppBackend?
  }

  package struct Proxy: Equatable {
    /// `http://host:port` or `https://host:port`.
    package var url: String
    /// A file whose first line is `user:password`.
    package var credentialsFile: String?
  }

  package struct Worker: Equatable {
    package var engine: PushEngineKind
    /// Per app.
    package var connections: Int
    /// Targets in doubt at most.
    package var window: Int
    /// How long a push may be under way before it is in doubt.
    package var answerTimeout: Duration
    /// How long a worker may take to finish after SIGTERM.
    package var deadline: Duration
    /// The folder of the time zone database; `nil` for the system's.
    package var zoneinfo: String?
  }

  package struct Retry: Equatable {
    /// How long a token waits after its first 5xx, if that is not longer than ``serverError``.
    package var firstServerError: Duration
    /// How long a token waits after any other 5xx.
    package var serverError: Duration
    /// How long a token waits after its first 429; doubles.
    package var tooManyRequests: Duration
    /// How often a token is tried in all.
    package var attempts: Int
    /// What any wait lasts at most.
    package var longest: Duration
    /// The share of a wait by which chance makes it longer.
    package var jitter: Double
  }

  package struct Guard: Equatable {
    /// The share of suspect answers that pauses a campaign.
    package var threshold: Double
    /// The share of 410 answers that does the same.
    package var pruneShare: Double
    /// Answers before the shares count.
    package var minimum: Int
  }
}
