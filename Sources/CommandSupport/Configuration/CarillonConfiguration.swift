package import Logging
package import PushTransport
package import PushCore
package import PushWorker
package import Redis
package import ServiceTools

/// The configuration of Carillon, after the checks of its keys and values. It does not show problems of the files that
/// it names, such as a missing key file.
package struct CarillonConfiguration: Equatable {
  package var redis: Redis
  /// Apps by their names in jobs.
  package var apps: [String: App]
  package var worker: Worker
  package var retry: Retry
  package var `guard`: Guard
  /// Settings of the server for health checks, metrics and the API; `nil` if the configuration has no such settings.
  package var admin: Admin?
  package var log = Log()
  /// Webhooks by their names in status and alarms.
  package var webhooks: [String: WebhookTarget] = [:]

  package struct Admin: Equatable {
    /// The address of the server. With `nil`, a worker has no server, and `carillon admin` listens on ``standard``.
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
    /// A PEM file with the server's certificate and its intermediate certificates.
    package var certificate: String
    /// A PEM file with the key of the certificate.
    package var key: String
  }

  /// A receiver of events.
  package struct WebhookTarget: Equatable {
    package var url: String
    /// A file with the signing key in its first line.
    package var secretFile: String
    package var kinds: Set<Webhook.Kind>
    /// Whether the receiver may be on this machine or in a private network.
    package var allowsPrivate = false
    /// A PEM file with certificates to trust instead of those of the system.
    package var trustRoots: String?
  }

  /// Format and levels of the log.
  package struct Log: Equatable {
    /// Whether each line is a JSON object. `--json` overrides this.
    package var isJSON = false
    /// The lowest level that is written. `--log-level` overrides this.
    package var level = Logger.Level.info
    /// The lowest level per module, by the module's name.
    package var modules: [String: Logger.Level] = [:]

    package init() {}
  }

  package struct Redis: Equatable {
    package var url: String
    /// The Redis user, if the URL has none.
    package var user: String?
    /// A file with the password in its first line, if the URL has no password.
    package var passwordFile: String?
    /// TLS settings; `nil` for the defaults of the URL's scheme. `sentinel://` and `cluster://` use no TLS by default.
    package var tls: RedisTLS?
    /// Settings for the connections to sentinels, if the URL names sentinels.
    package var sentinel = Sentinel()
    /// For the address that a cluster server announces, the address at which Carillon reaches this server. Empty if
    /// both are always the same.
    package var clusterAddresses: [RedisAddress: RedisAddress] = [:]
    /// The prefix of all keys.
    package var namespace: String
    /// The number of partitions; fixed when the store is initialised.
    package var partitions: Int?
    /// Maximum number of entries in the feedback list.
    package var feedbackLength: Int
    /// Maximum number of devices per user.
    package var devicesPerUser: Int
    /// Maximum number of entries in the event stream; 0 for no stream.
    package var streamLength = 0
  }

  package struct Sentinel: Equatable {
    /// The user for the sentinels.
    package var user: String?
    /// A file with the password in its first line.
    package var passwordFile: String?
    /// TLS settings for the sentinels; `nil` for no TLS.
    package var tls: RedisTLS?
  }

  package struct RedisTLS: Equatable {
    /// A PEM file with certificates to trust instead of those of the system.
    package var trustRoots: String?
    /// A PEM file with the client certificate. If a certificate is set, ``key`` is set too.
    package var certificate: String?
    /// A PEM file with the key of the certificate.
    package var key: String?
    /// The expected name in the server's certificate, if it is not the URL's host.
    package var serverName: String?
  }

  package struct App: Equatable {
    /// The push services of the app, in the order of ``KnownServices``; at least one.
    package var services: [AppService]
    /// Whether each user keeps only one device of the app: the device of the latest login.
    package var lastDeviceOnly = false
    /// The share of the app's users in its permanent control group, who get only transactional pushes; `nil` for no
    /// such group.
    package var control: Double?
    /// Frequency caps of the app.
    package var caps: [FrequencyCap] = []
    /// Number of targets above which a campaign needs approval; `nil` for never.
    package var approvalAbove: Int?
    /// The app's backend; `nil` for none. If the backend is unhealthy, workers throttle the app's campaigns.
    package var backend: AppBackend?

    /// Returns the settings for a push service; `nil` if the app does not use it.
    package subscript(service: String) -> AppService? { services.first { $0.tools.service.name == service } }
  }

  /// A push service of an app, with the app's settings for it.
  package struct AppService: Equatable {
    package var configured: ConfiguredService
    /// A PEM file with certificates to trust instead of those of the system.
    package var trustRoots: String?
    /// An HTTP proxy for the connections to the push service.
    package var proxy: Proxy?
    /// Rate limit in pushes per second to this service, for all campaigns of the app and all workers together; `nil`
    /// for no limit.
    package var rate: Double?
    /// Connections of each worker; `nil` for ``Worker/connections``.
    package var connections: Int?

    package var tools: any PushServiceTools { configured.tools }
    package var settings: any PushServiceSettings { configured.settings }
  }

  package struct Proxy: Equatable {
    /// `http://host:port` or `https://host:port`.
    package var url: String
    /// A file with `user:password` in its first line.
    package var credentialsFile: String?
  }

  package struct Worker: Equatable {
    package var engine: PushEngineKind
    /// Connections of each worker for each pair of a credential and an endpoint.
    package var connections: Int
    /// Maximum number of targets in doubt.
    package var window: Int
    /// The longest wait for an answer. After this time, a push is in doubt.
    package var answerTimeout: Duration
    /// The longest duration of a stop after SIGTERM.
    package var deadline: Duration
    /// The folder of the time zone database; `nil` for that of the system.
    package var zoneinfo: String?
  }

  package struct Retry: Equatable {
    /// Delay of the retry after the first 5xx answer to a push, at most ``serverError``.
    package var firstServerError: Duration
    /// Delay of the retry after each further 5xx answer to the same push.
    package var serverError: Duration
    /// Delay of the retry after the first 429 answer to a push. The delay doubles with each further 429 answer to the
    /// same push.
    package var tooManyRequests: Duration
    /// Maximum number of attempts to send a push.
    package var attempts: Int
    /// Maximum delay of a retry, whatever its cause.
    package var longest: Duration
    /// Random addition to a delay, as a share of the delay.
    package var jitter: Double
  }

  package struct Guard: Equatable {
    /// Share of answers, 0 to 1, that refuse a token or the message. Above this share, the guard pauses the campaign.
    package var threshold: Double
    /// Share of answers, 0 to 1, that report that the device is gone. Above this share, the guard pauses the campaign.
    package var pruneShare: Double
    /// Number of answers that the guard needs before it evaluates the shares.
    package var minimum: Int
  }
}
