public import PushTransport
public import PushCore

/// Settings of a worker.
public struct WorkerConfiguration: Sendable {
  /// The worker's name. Another worker may use it after this worker has ended.
  public var name: String
  /// Whether an operator chose the name. If so, a second worker with this name does not start. Otherwise the second
  /// worker chooses another name.
  public var isNameGiven = true
  /// Maximum number of targets in doubt, over all held slices. If the worker dies, at most this many targets are sent
  /// twice.
  public var window: Int
  /// Version of the program, shown in the state of the fleet.
  public var version = ""
  /// Number of connections for each pair of a credential and an endpoint.
  public var connections: Int
  /// Transport that carries the pushes.
  public var engine = PushEngineKind.native
  /// Times and limits of retries.
  public var retry: RetryPolicy
  /// Limits of the guard for bad answers. Above a limit, the guard pauses the campaign, and its answers remove no
  /// devices.
  public var `guard`: GuardPolicy
  /// Whether the worker exits when no campaign is left.
  public var drains: Bool
  /// Time in ms for which a claim is valid without a renewal. After this time, other workers take over the slices of a
  /// dead worker. A live worker renews its claims three times per lease.
  public var lease: Int
  /// Maximum time in ms from the start of a push to its answer. After this time the push is in doubt, and its
  /// connection may be replaced.
  public var answerTimeout = 30_000
  /// The ``lease`` of every worker that `carillon worker` starts, in ms. Commands that wait for workers use this value.
  public static let standardLease = 6000
  /// Maximum processor time for the check of one job. The largest job takes a fraction of a second; ten seconds are
  /// enough even on a busy machine.
  public var jobCheckLimit = Duration.seconds(10)
  /// Number of targets above which an audience is large. The worker takes in other jobs while it counts a large
  /// audience for its approval, because the count takes seconds.
  public var largeAudience = 1_000_000
  /// The apps that jobs may name.
  public var apps: [String: AppChannel]
  /// Apps for which a user has only one device: the device of the latest login.
  public var lastDeviceOnly: Set<String> = []
  /// Webhooks that receive changes of campaigns, and alarms.
  public var webhooks: [Webhook] = []
  /// Faults that a test injects. A release build contains none.
  public var faults = FaultSwitches()

  /// The apps that jobs may name, with their push services, for the check of jobs.
  var jobApps: JobApps { .known(apps.mapValues { $0.services.map(\.service) }) }

  /// Creates a configuration from its values. The reader of the configuration file checks their ranges.
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

/// One app: its push services, and the limits that apply to all of them together.
public struct AppChannel: Sendable {
  /// The push services of the app; at least one.
  public var services: [ServiceChannel]
  /// Limits for the number of the app's campaigns that one user gets in a period.
  public var caps: [FrequencyCap] = []
  /// Number of targets above which a campaign needs approval; `nil` for never.
  public var approvalAbove: Int?
  /// Share of the app's users in the control group, who get only transactional campaigns; `nil` for none.
  public var control: Double?
  /// The app's own backend, whose health controls the speed of its campaigns; `nil` for none.
  public var backend: AppBackend?

  /// Creates an app without limits.
  public init(_ services: [ServiceChannel]) {
    self.services = services
  }

  /// Returns the channel of a push service; `nil` if the app does not use it.
  public subscript(service: String) -> ServiceChannel? { services.first { $0.service.name == service } }

  /// Returns the channel of a campaign's leg; `nil` if the app does not use its push service.
  func channel(of campaign: Campaign) -> ServiceChannel? {
    self[campaign.service]
  }
}

/// The connection settings and the limits of an app at one push service.
public struct ServiceChannel: Sendable {
  /// The push service, as configured for the app.
  public var service: any PushService
  /// `production` or `sandbox`. Devices of the other environment are left out.
  public var environment: String
  /// The address of the push service.
  public var endpoint: PushEndpoint
  /// The address for broadcasts; `nil` for ``endpoint``.
  public var broadcastEndpoint: PushEndpoint?
  /// The credential for the push service. Apps with the same credential and endpoint share connections.
  public var credential: any PushCredential
  /// Maximum number of pushes per second of all campaigns of the app to this service, over the whole fleet; `nil` for
  /// no limit.
  public var rate: Double?
  /// Number of connections of each worker; `nil` for ``WorkerConfiguration/connections``.
  public var connections: Int?

  /// Creates a channel without limits.
  public init(
    service: any PushService, environment: String, endpoint: PushEndpoint, credential: any PushCredential
  ) {
    self.service = service
    self.environment = environment
    self.endpoint = endpoint
    self.credential = credential
  }

  /// A copy of the channel whose endpoint is the address for broadcasts.
  var broadcasting: ServiceChannel {
    var other = self
    other.endpoint = broadcastEndpoint ?? endpoint
    return other
  }
}

/// The backend of an app. Users who open a push cause load on it.
public struct AppBackend: Sendable, Equatable {
  /// The health check of the backend.
  public var check: HealthCheck
  /// Time between two checks, in ms.
  public var interval: Int
  /// Pushes per second that a healthy backend can handle. While the backend is unhealthy, the app's campaigns are
  /// slower.
  public var rate: Double
  /// Minimum share of ``rate`` that the app's campaigns get while the backend is unhealthy: above 0, at most 1.
  public var leastShare: Double

  /// Creates a backend from its values.
  public init(check: HealthCheck, interval: Int, rate: Double, leastShare: Double) {
    (self.check, self.interval, self.rate, self.leastShare) = (check, interval, rate, leastShare)
  }
}

extension Campaign {
  /// Whether the campaign is slower while its app's backend is unhealthy. Urgent and transactional campaigns are not.
  var followsBackendHealth: Bool { delivery.lane != .urgent && !recipients.isTransactional }
}
