public import PushTransport
public import PushCore

/// How a worker is set up.
public struct WorkerConfiguration: Sendable {
  /// The worker's name; it may be used again after the worker has gone.
  public var name: String
  /// Whether somebody chose the name: then a second worker of that name does not start. Otherwise it finds another.
  public var isNameGiven = true
  /// Targets in doubt at most, over all slices the worker holds: what may be sent twice if it dies.
  public var window: Int
  /// The version of the program, for whoever looks at the fleet.
  public var version = ""
  /// Connections for every app.
  public var connections: Int
  /// What carries pushes.
  public var engine = PushEngineKind.native
  /// When and how often to retry.
  public var retry: RetryPolicy
  /// When a campaign's answers stop it and its prunes.
  public var `guard`: GuardPolicy
  /// Exit when no campaign is left.
  public var drains: Bool
  /// ms for which a slice stays this worker's without a sign of life. A dead worker's slices are taken over after that,
  /// so it bounds how long they lie still; a live worker renews three times as often.
  public var lease: Int
  /// ms for one push from its start to its answer; beyond that it is in doubt, and its connection given up.
  public var answerTimeout = 30_000
  /// ``lease`` of every worker that `carillon worker` starts: commands that wait for workers go by it.
  public static let standardLease = 6000
  /// How long the check of one job may take. The largest job takes a fraction of a second; ten seconds are more than it
  /// takes on a machine that is busy with other work.
  public var jobCheckLimit = Duration.seconds(10)
  /// The apps that jobs may name.
  public var apps: [String: AppChannel]
  /// Apps of which a user has one device only, the one where a login was last.
  public var lastDeviceOnly: Set<String> = []
  /// Whom to tell of campaigns that change, and of alarms.
  public var webhooks: [Webhook] = []
  /// What a test breaks; nothing of it is in a release build.
  public var faults = FaultSwitches()

  /// What jobs are held against.
  var jobApps: JobApps { .known(apps.mapValues(\.service)) }

  /// Memberwise; the ranges are the configuration file's to check.
  public init(
    name: String, window: Int = 1000, connections: Int = 2, retry: RetryPolicy = RetryPolicy(),
    guard: GuardPolicy = GuardPolicy(), drains: Bool = false, lease: Int = WorkerConfiguration.standardLease,
    apps: [String: AppChannel]
  ) {
    self.name = name
    self.window = window
    self.connections = connections
    self.retry = retry
    self.guard = `guard`
    self.drains = drains
    self.lease = lease
    self.apps = apps
  }
}

/// The way to one app's devices.
public struct AppChannel: Sendable {
  /// What carries its pushes, as configured for the app.
  public var service: any PushService
  /// `production` or `sandbox`: devices of the other are left out.
  public var environment: String
  /// Where the service is.
  public var endpoint: PushEndpoint
  /// Where it takes broadcasts; `nil` for the same place.
  public var broadcastEndpoint: PushEndpoint?
  /// What the service lets its pushes in for. Apps that share the same one share their connections.
  public var credential: any PushCredential
  /// Pushes a second of all its campaigns together, over the whole fleet; `nil` for as fast as it goes.
  public var rate: Double?
  /// How often its campaigns come to a user at most.
  public var caps: [FrequencyCap] = []
  /// Targets above which a campaign waits for somebody's approval; `nil` for never.
  public var approvalAbove: Int?
  /// The share of the app's users who get nothing of it but what is transactional; `nil` for none.
  public var control: Double?
  /// The app's own backend, whose health says how fast its campaigns go; `nil` for none.
  public var backend: AppBackend?

  /// Memberwise.
  public init(
    service: any PushService, environment: String, endpoint: PushEndpoint, credential: any PushCredential
  ) {
    self.service = service
    self.environment = environment
    self.endpoint = endpoint
    self.credential = credential
  }

  /// The way to its broadcast channels.
  var broadcasting: AppChannel {
    var other = self
    other.endpoint = broadcastEndpoint ?? endpoint
    return other
  }
}

/// An app's own backend: what users do with a push it has to bear.
public struct AppBackend: Sendable, Equatable {
  /// How it is asked.
  public var check: HealthCheck
  /// ms from one look to the next.
  public var interval: Int
  /// Pushes a second that it bears when it is well: when it is not, the app's campaigns go slower than that.
  public var rate: Double
  /// The share of ``rate`` that they always have: above 0, at most 1.
  public var leastShare: Double

  /// Memberwise.
  public init(check: HealthCheck, interval: Int, rate: Double, leastShare: Double) {
    (self.check, self.interval, self.rate, self.leastShare) = (check, interval, rate, leastShare)
  }
}

extension Campaign {
  /// Whether it goes slower while its app's backend is not well: not what is urgent or transactional.
  var heedsBackend: Bool { delivery.lane != .urgent && !recipients.isTransactional }
}
