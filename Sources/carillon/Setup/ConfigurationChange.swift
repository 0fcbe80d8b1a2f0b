import CommandSupport

/// The keys that differ between two configurations, such as before and after a reload. Pure.
struct ConfigurationChange: Equatable {
  /// Changed keys that take effect without a restart of the process.
  var applied: [String] = []
  /// Changed keys that need a restart of the process, because the connections and the state of the process depend on
  /// them.
  var restart: [String] = []
  /// Whether a new worker must replace the running worker. This is not necessary if only log settings have changed.
  var concernsWork = false

  var isEmpty: Bool { applied.isEmpty && restart.isEmpty }

  init(from old: CarillonConfiguration, to new: CarillonConfiguration) {
    for name in Set(old.apps.keys).union(new.apps.keys).sorted() where old.apps[name] != new.apps[name] {
      let what = old.apps[name] == nil ? " (new)" : new.apps[name] == nil ? " (removed)" : ""
      applied.append("apps.\(name)\(what)")
    }
    addApplied("worker.engine", old.worker.engine, new.worker.engine)
    addApplied("worker.connections", old.worker.connections, new.worker.connections)
    addApplied("worker.window", old.worker.window, new.worker.window)
    addApplied("worker.answerTimeout", old.worker.answerTimeout, new.worker.answerTimeout)
    addApplied("worker.deadline", old.worker.deadline, new.worker.deadline)
    addApplied("retry", old.retry, new.retry)
    addApplied("guard", old.guard, new.guard)
    for name in Set(old.webhooks.keys).union(new.webhooks.keys).sorted()
    where old.webhooks[name] != new.webhooks[name] {
      let what = old.webhooks[name] == nil ? " (new)" : new.webhooks[name] == nil ? " (removed)" : ""
      applied.append("webhooks.\(name)\(what)")
    }
    concernsWork = !applied.isEmpty
    addApplied("log", old.log, new.log)
    let (before, after) = (old.redis, new.redis)
    addRestart("redis.url", before.url, after.url)
    addRestart("redis.user", before.user, after.user)
    addRestart("redis.passwordFile", before.passwordFile, after.passwordFile)
    addRestart("redis.tls", before.tls, after.tls)
    addRestart("redis.sentinel", before.sentinel, after.sentinel)
    addRestart("redis.cluster", before.clusterAddresses, after.clusterAddresses)
    addRestart("redis.namespace", before.namespace, after.namespace)
    addRestart("redis.partitions", before.partitions, after.partitions)
    addRestart("redis.feedbackLength", before.feedbackLength, after.feedbackLength)
    addRestart("redis.streamLength", before.streamLength, after.streamLength)
    addRestart("redis.devicesPerUser", before.devicesPerUser, after.devicesPerUser)
  }

  private mutating func addApplied<Value: Equatable>(_ key: String, _ old: Value, _ new: Value) {
    if old != new { applied.append(key) }
  }

  private mutating func addRestart<Value: Equatable>(_ key: String, _ old: Value, _ new: Value) {
    if old != new { restart.append(key) }
  }
}
