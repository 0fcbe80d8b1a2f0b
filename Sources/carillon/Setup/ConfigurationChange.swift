import CommandSupport

/// The changed keys between two configurations. Pure.
struct ConfigurationChange: Equatable {
  /// Changed keys that take effect without a restart of the process.
  var applied: [String] = []
  /// Changed keys that need a restart of the process, because the connections and the state of the process depend on
  /// them.
  var restart: [String] = []
  /// Whether a new worker must replace the running one. A change of the log settings does not need this.
  var concernsWork = false

  var isEmpty: Bool { applied.isEmpty && restart.isEmpty }

  init(from old: CarillonConfiguration, to new: CarillonConfiguration) {
    for name in Set(old.apps.keys).union(new.apps.keys).sorted() where old.apps[name] != new.apps[name] {
      let what = old.apps[name] == nil ? " (new)" : new.apps[name] == nil ? " (removed)" : ""
      applied.append("apps.\(name)\(what)")
    }
    note("worker.engine", old.worker.engine, new.worker.engine)
    note("worker.connections", old.worker.connections, new.worker.connections)
    note("worker.window", old.worker.window, new.worker.window)
    note("worker.answerTimeout", old.worker.answerTimeout, new.worker.answerTimeout)
    note("worker.deadline", old.worker.deadline, new.worker.deadline)
    note("retry", old.retry, new.retry)
    note("guard", old.guard, new.guard)
    for name in Set(old.webhooks.keys).union(new.webhooks.keys).sorted()
    where old.webhooks[name] != new.webhooks[name] {
      let what = old.webhooks[name] == nil ? " (new)" : new.webhooks[name] == nil ? " (removed)" : ""
      applied.append("webhooks.\(name)\(what)")
    }
    concernsWork = !applied.isEmpty
    note("log", old.log, new.log)
    let (before, after) = (old.redis, new.redis)
    hold("redis.url", before.url, after.url)
    hold("redis.user", before.user, after.user)
    hold("redis.passwordFile", before.passwordFile, after.passwordFile)
    hold("redis.tls", before.tls, after.tls)
    hold("redis.sentinel", before.sentinel, after.sentinel)
    hold("redis.cluster", before.clusterAddresses, after.clusterAddresses)
    hold("redis.namespace", before.namespace, after.namespace)
    hold("redis.partitions", before.partitions, after.partitions)
    hold("redis.feedbackLength", before.feedbackLength, after.feedbackLength)
    hold("redis.streamLength", before.streamLength, after.streamLength)
    hold("redis.devicesPerUser", before.devicesPerUser, after.devicesPerUser)
  }

  private mutating func note<Value: Equatable>(_ key: String, _ old: Value, _ new: Value) {
    if old != new { applied.append(key) }
  }

  private mutating func hold<Value: Equatable>(_ key: String, _ old: Value, _ new: Value) {
    if old != new { restart.append(key) }
  }
}
