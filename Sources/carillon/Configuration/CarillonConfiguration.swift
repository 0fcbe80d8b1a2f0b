import PushCore

/// The configuration, read and checked. What only shows in use, such as a key file that isn't there, is not checked here.
struct CarillonConfiguration: Equatable {
  var redis: Redis
  /// By the name that jobs use.
  var apps: [String: App]
  var worker: Worker
  var retry: Retry
  var `guard`: Guard

  struct Redis: Equatable {
    var url: String
    /// What all keys begin with.
    var namespace: String
    /// Fixed when the store is initialised.
    var partitions: Int
    /// Entries of the feedback list at most.
    var feedbackLength: Int
  }

  struct App: Equatable {
    /// The bundle id; push types add their suffix.
    var topic: String
    var environment: PushEnvironment
    var credential: Credential
    /// In the place of Apple's host: the simulator, or a proxy.
    var endpoint: Endpoint?
    /// In the place of ``endpoint`` for broadcasts.
    var broadcastEndpoint: Endpoint?
    /// In the place of ``endpoint`` for channel management.
    var channelEndpoint: Endpoint?
    /// The port of Apple's host: 443 or 2197.
    var port: Int = 443
    /// A file of PEM certificates to trust instead of the system's.
    var trustRoots: String?
    /// An HTTP proxy on the way to APNs.
    var proxy: Proxy?
  }

  /// What APNs lets an app's pushes in for.
  enum Credential: Hashable {
    case token(Token)
    case certificate(Certificate)
  }

  struct Token: Hashable {
    var keyFile: String
    var keyID: String
    var teamID: String
  }

  struct Certificate: Hashable {
    /// PKCS#12, or PEM with certificate and key.
    var file: String
    /// A file whose first line is the passphrase.
    var passphraseFile: String?
  }

  struct Proxy: Equatable {
    /// `http://host:port` or `https://host:port`.
    var url: String
    /// A file whose first line is `user:password`.
    var credentialsFile: String?
  }

  struct Endpoint: Equatable {
    var host: String
    var port: Int
  }

  struct Worker: Equatable {
    enum Engine: String, CaseIterable {
      case curl, native
    }

    var engine: Engine
    /// Per app.
    var connections: Int
    /// Targets in doubt at most.
    var window: Int
    /// How long a push may be under way before it is in doubt.
    var answerTimeout: Duration
    /// How long a worker may take to finish after SIGTERM.
    var deadline: Duration
  }

  struct Retry: Equatable {
    /// How long a token waits after its first 5xx, if that is not longer than ``serverError``.
    var firstServerError: Duration
    /// How long a token waits after any other 5xx.
    var serverError: Duration
    /// How long a token waits after its first 429; doubles.
    var tooManyRequests: Duration
    /// How often a token is tried in all.
    var attempts: Int
    /// What any wait lasts at most.
    var longest: Duration
    /// The share of a wait by which chance makes it longer.
    var jitter: Double
  }

  struct Guard: Equatable {
    /// The share of suspect answers that pauses a campaign.
    var threshold: Double
    /// The share of 410 answers that does the same.
    var pruneShare: Double
    /// Answers before the shares count.
    var minimum: Int
  }
}
