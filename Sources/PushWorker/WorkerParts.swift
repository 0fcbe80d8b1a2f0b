import CampaignStore
import EventLoop

/// The parts of a worker that the actor uses. The initialiser makes all parts, and gives each part the parts that it
/// uses.
struct WorkerParts {
  let intake: JobIntakeLoop
  let fetcher: SliceFetcher
  let follower: CampaignFollower
  let presence: PresenceLoop
  let maintenance: Maintenance
  let answers: AnswerHandler
  let failover: FailoverService
  let reporter: WorkerReporter
  let shutdown: WorkerShutdown

  /// - Parameters:
  ///   - environment: The environment of every part.
  ///   - blocking: The store through the client that waits for jobs.
  ///   - loop: The worker's loop.
  ///   - heartbeats: Measures the heartbeat calls.
  init(_ environment: WorkerEnvironment, blocking: CampaignStore, loop: EventLoop, heartbeats: CallClock) {
    // State that several parts use.
    let configuration = environment.configuration
    let inbox = CompletionInbox(loop: loop)
    let routes = PushRouteTable(configuration.apps.values.flatMap(\.services), inbox: inbox)
    let slices = SliceTable()
    let campaigns = CampaignTable()
    let credit = CreditLedger(window: configuration.window)
    credit.setShared(routes.areSeveral)
    let figures = WorkerFigures()
    let housekeeping = HousekeepingLease()
    let references = OwnReferences()
    let selection = SliceSelection()
    var chance = SystemRandomNumberGenerator()
    let membership = FleetMembership(WorkerInstance(name: configuration.name, using: &chance))

    // Outcomes of targets and states of campaigns.
    let damage = DamageIsolator(environment: environment, campaigns: campaigns)
    let takeover = SliceTakeover(environment: environment)
    let returns = SliceReturn(environment: environment)
    let feedback = FeedbackDelivery(environment)
    let recorder = TargetRecorder(environment: environment, credit: credit)
    let pauses = CampaignPauses(environment: environment, slices: slices, campaigns: campaigns, recorder: recorder)
    let declined = DeclinedCampaigns(environment, slices: slices, recorder: recorder, pauses: pauses)
    let rates = RateService(environment, slices: slices, campaigns: campaigns)
    let backends = BackendMonitor(environment, slices: slices, rates: rates, housekeeping: housekeeping)
    let guards = GuardService(
      environment, slices: slices, campaigns: campaigns, credit: credit, recorder: recorder, pauses: pauses,
      declined: declined, rates: rates)
    let follower = CampaignFollower(
      environment: environment, slices: slices, campaigns: campaigns, recorder: recorder, declined: declined,
      guards: guards,
      damage: damage)
    let closer = SliceCloser(
      environment: environment, campaigns: campaigns, feedback: feedback, returns: returns, figures: figures)
    let failover = FailoverService(
      environment, slices: slices, campaigns: campaigns, membership: membership, closer: closer, damage: damage)

    // Credit and pushes.
    let dispatcher = CreditDispatcher(
      environment, slices: slices, credit: credit, recorder: recorder, guards: guards, rates: rates,
      declined: declined, routes: routes, failover: failover)
    let sender = PushSender(environment, slices: slices, credit: credit, recorder: recorder, figures: figures)
    let answers = AnswerHandler(
      environment, inbox: inbox, slices: slices, credit: credit, recorder: recorder, sender: sender, guards: guards,
      rates: rates, pauses: pauses, declined: declined, figures: figures)
    let committer = SliceCommitter(
      environment: environment, credit: credit, recorder: recorder, sender: sender, failover: failover, figures: figures
    )

    // Slices.
    let preconditions = ExpansionPreconditions(environment, campaigns: campaigns, pauses: pauses)
    let factory = CampaignContextFactory(
      environment: environment, routes: routes, credit: credit, figures: figures, rates: rates)
    let reader = CampaignReader(
      environment, campaigns: campaigns, factory: factory, preconditions: preconditions, selection: selection,
      rates: rates, backends: backends, guards: guards, declined: declined)
    let claimer = SliceClaimer(
      environment: environment, slices: slices, reader: reader, rates: rates, declined: declined, recorder: recorder,
      closer: closer, returns: returns, failover: failover, dispatcher: dispatcher)
    let preparation = SlicePreparation(
      environment: environment, preconditions: preconditions, committer: committer, returns: returns)
    let release = SliceRelease(
      environment: environment, slices: slices, credit: credit, rates: rates, guards: guards, failover: failover,
      dispatcher: dispatcher)
    let replay = SliceReplay(environment: environment, failover: failover, committer: committer, recorder: recorder)
    let driver = SliceDriver(
      environment: environment, dispatcher: dispatcher, guards: guards, committer: committer, replay: replay,
      closer: closer,
      returns: returns, failover: failover)
    let abandoned = AbandonedSlices(environment, slices: slices, selection: selection)
    let runner = SliceRunner(
      environment: environment, slices: slices, campaigns: campaigns, abandoned: abandoned, claimer: claimer,
      preparation: preparation, driver: driver, release: release, follower: follower, damage: damage)
    let batchDriver = SliceBatchDriver(
      environment: environment, slices: slices, dispatcher: dispatcher, committer: committer, closer: closer,
      release: release,
      runner: runner, failover: failover, damage: damage)
    let seals = SliceBatchSeal(
      environment: environment, slices: slices, credit: credit, dispatcher: dispatcher, preparation: preparation,
      committer: committer, release: release, runner: runner, driver: batchDriver, failover: failover)
    let start = SliceBatchStart(
      environment: environment, slices: slices, campaigns: campaigns, reader: reader, claimer: claimer,
      release: release,
      runner: runner, follower: follower, failover: failover, seals: seals)
    let batches = SliceBatchRunner(
      environment: environment, runner: runner, start: start, driver: batchDriver, failover: failover, damage: damage)
    fetcher = SliceFetcher(
      environment, slices: slices, campaigns: campaigns, abandoned: abandoned, selection: selection, reader: reader,
      rates: rates, dispatcher: dispatcher, failover: failover, housekeeping: housekeeping, batches: batches,
      returns: returns)

    // The fleet.
    intake = JobIntakeLoop(environment, blocking: blocking, membership: membership, failover: failover)
    reporter = WorkerReporter(
      environment, slices: slices, credit: credit, routes: routes, rates: rates, figures: figures,
      membership: membership)
    let waiting = WaitingReporter(
      environment, campaigns: campaigns, declined: declined, rates: rates, preconditions: preconditions)
    let heartbeat = Heartbeat(
      environment: environment, membership: membership, campaigns: campaigns, housekeeping: housekeeping,
      references: references,
      reporter: reporter, callClock: heartbeats)
    let messages = FleetMessages(
      environment, membership: membership, campaigns: campaigns, housekeeping: housekeeping, abandoned: abandoned,
      takeover: takeover)
    let regularTasks = RegularTasks(
      environment: environment, slices: slices, campaigns: campaigns, references: references, takeover: takeover,
      declined: declined, sender: sender, feedback: feedback, waiting: waiting, failover: failover)
    presence = PresenceLoop(
      environment: environment, membership: membership, messages: messages, heartbeat: heartbeat,
      regularTasks: regularTasks,
      routes: routes,
      failover: failover, damage: damage)
    let registrations = RegistrationIntake(
      environment, membership: membership, housekeeping: housekeeping, damage: damage)
    let webhooks = WebhookDelivery(environment, housekeeping: housekeeping)
    maintenance = Maintenance(
      environment, slices: slices, membership: membership, housekeeping: housekeeping, takeover: takeover,
      feedback: feedback, registrations: registrations, webhooks: webhooks, backends: backends, damage: damage)
    shutdown = WorkerShutdown(
      environment, slices: slices, recorder: recorder, intake: intake, dispatcher: dispatcher, routes: routes)
    self.follower = follower
    self.answers = answers
    self.failover = failover

    // Signals from a part to parts that are made after it.
    environment.signals.onCredit = { [unowned dispatcher] in dispatcher.dispatch(takingMore: $0) }
    environment.signals.onCompletion = { [unowned shutdown] in shutdown.begin() }
    environment.signals.onCancellation = { [unowned shutdown] in
      shutdown.begin()
      shutdown.abandon()
    }
  }
}
