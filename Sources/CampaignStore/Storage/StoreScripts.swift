import Redis

/// The Lua scripts that change the store. Each is a file in a folder `Scripts`, embedded at build time.
enum StoreScripts {
  static let initialise = script("initialise", EmbeddedText.initialise_lua)
  static let hold = script("hold", EmbeddedText.hold_lua)
  static let reslice = script("reslice", EmbeddedText.reslice_lua)
  static let moveUsers = script("moveusers", EmbeddedText.moveusers_lua, editsDevices: true)
  static let moveOwners = script("moveowners", EmbeddedText.moveowners_lua)
  static let repartition = script("repartition", EmbeddedText.repartition_lua)

  static let queue = script("queue", EmbeddedText.queue_lua)
  static let unqueue = script("unqueue", EmbeddedText.unqueue_lua)
  static let putTemplate = script("puttemplate", EmbeddedText.puttemplate_lua)
  static let submit = script("submit", EmbeddedText.submit_lua)
  static let reserve = script("reserve", EmbeddedText.reserve_lua)
  static let activate = script("activate", EmbeddedText.activate_lua)
  static let acknowledge = script("acknowledge", EmbeddedText.acknowledge_lua)
  static let beginJob = script("beginjob", EmbeddedText.beginjob_lua)
  static let deadLetter = script("deadletter", EmbeddedText.deadletter_lua)

  static let rotate = script("rotate", EmbeddedText.rotate_lua)
  static let dequeue = script("dequeue", EmbeddedText.dequeue_lua)
  static let dequeueLeft = script("dequeueleft", EmbeddedText.dequeueleft_lua)
  static let requeue = script("requeue", EmbeddedText.requeue_lua)
  static let park = script("park", EmbeddedText.park_lua)
  static let takeOutSlice = script("takeoutslice", EmbeddedText.takeoutslice_lua)
  static let takeOutCampaign = script("takeoutcampaign", EmbeddedText.takeoutcampaign_lua)
  static let setAside = script("setaside", EmbeddedText.setaside_lua)
  static let prune = script("prune", EmbeddedText.prune_lua)
  static let finish = script("finish", EmbeddedText.finish_lua, addsSlices: true)
  static let endPart = script("endpart", EmbeddedText.endpart_lua)
  static let openGate = script("opengate", EmbeddedText.opengate_lua)
  static let deferGate = script("defergate", EmbeddedText.defergate_lua)
  static let control = script("control", EmbeddedText.control_lua)
  static let syncControl = script("synccontrol", EmbeddedText.synccontrol_lua)
  static let decline = script("decline", EmbeddedText.decline_lua)
  static let standDown = script("standdown", EmbeddedText.standdown_lua)
  static let lagging = script("lagging", EmbeddedText.lagging_lua)
  static let guardWatch = script("guardwatch", EmbeddedText.guardwatch_lua)
  static let guardTrial = script("guardtrial", EmbeddedText.guardtrial_lua)
  static let rate = script("rate", EmbeddedText.rate_lua)
  static let define = script("define", EmbeddedText.define_lua)
  static let repeatRun = script("repeat", EmbeddedText.repeat_lua)
  static let rank = script("rank", EmbeddedText.rank_lua)
  static let quota = script("quota", EmbeddedText.quota_lua)
  static let decide = script("decide", EmbeddedText.decide_lua)
  static let promote = script("promote", EmbeddedText.promote_lua)
  static let narrow = script("narrow", EmbeddedText.narrow_lua)
  static let addSlice = script("addslice", EmbeddedText.addslice_lua, addsSlices: true)
  static let unpark = script("unpark", EmbeddedText.unpark_lua)
  static let reopen = script("reopen", EmbeddedText.reopen_lua)
  static let idle = script("idle", EmbeddedText.idle_lua)
  static let view = script("view", EmbeddedText.view_lua)
  static let takeOff = script("takeoff", EmbeddedText.takeoff_lua)
  static let retryEvent = script("retryevent", EmbeddedText.retryevent_lua)
  static let receipt = script("receipt", EmbeddedText.receipt_lua, asksForRecipients: true)
  static let noteReceipts = script("notereceipts", EmbeddedText.notereceipts_lua)
  static let setBadges = script("setbadges", EmbeddedText.setbadges_lua, countsUsers: true, ordersStatements: true)
  static let setAttributes = script("setattributes", EmbeddedText.setattributes_lua, ordersStatements: true)
  static let setMembers = script(
    "setmembers", EmbeddedText.setmembers_lua, ordersStatements: true, notesDepartures: true)
  static let putInForce = script(
    "putinforce", EmbeddedText.putinforce_lua, ordersStatements: true, notesDepartures: true)
  static let eraseUser = script(
    "eraseuser", EmbeddedText.eraseuser_lua, countsUsers: true, ordersStatements: true)
  static let listing = script("listing", EmbeddedText.listing_lua)
  static let replaceJob = script("replacejob", EmbeddedText.replacejob_lua)
  static let replaceDead = script("replacedead", EmbeddedText.replacedead_lua)
  static let eraseEvents = script("eraseevents", EmbeddedText.eraseevents_lua)
  static let blank = script("blank", EmbeddedText.blank_lua)
  static let blankControl = script("blankcontrol", EmbeddedText.blankcontrol_lua)
  static let forget = script("forget", EmbeddedText.forget_lua, ordersStatements: true)
  static let reached = script("reached", EmbeddedText.reached_lua, derivesOutcomes: true)
  static let rights = script("rights", EmbeddedText.rights_lua)
  static let alarm = script("alarm", EmbeddedText.alarm_lua)
  static let backlog = script("backlog", EmbeddedText.backlog_lua)
  static let oldest = script("oldest", EmbeddedText.oldest_lua)
  static let heartbeat = script("heartbeat", EmbeddedText.heartbeat_lua)
  static let housekeep = script("housekeep", EmbeddedText.housekeep_lua)
  static let join = script("join", EmbeddedText.join_lua)
  static let expire = script("expire", EmbeddedText.expire_lua)
  static let removeWorker = script("removeworker", EmbeddedText.removeworker_lua)

  static let claim = script("claim", EmbeddedText.claim_lua, looksAtSlice: true, readsDepartures: true)
  static let seal = script("seal", EmbeddedText.seal_lua)
  static let commit = script(
    "commit", EmbeddedText.commit_lua, editsDevices: true, looksAtSlice: true, countsUsers: true,
    derivesOutcomes: true, readsDepartures: true, grantsTargets: true)
  static let regrant = script(
    "regrant", EmbeddedText.regrant_lua, editsDevices: true, countsUsers: true, derivesOutcomes: true,
    readsDepartures: true, grantsTargets: true)
  static let acceptLate = script(
    "acceptlate", EmbeddedText.acceptlate_lua, editsDevices: true, countsUsers: true, derivesOutcomes: true,
    grantsTargets: true)
  static let bisect = script("bisect", EmbeddedText.bisect_lua)
  static let unclaim = script("unclaim", EmbeddedText.unclaim_lua)
  static let close = script(
    "close", EmbeddedText.close_lua, editsDevices: true, looksAtSlice: true, countsUsers: true,
    derivesOutcomes: true, grantsTargets: true)

  static let noteActivity = script("noteactivity", EmbeddedText.noteactivity_lua, ordersStatements: true)
  static let bind = script("bind", EmbeddedText.bind_lua, ordersStatements: true)
  static let settle = script("settle", EmbeddedText.settle_lua)
  static let unbind = script("unbind", EmbeddedText.unbind_lua, ordersStatements: true)
  static let upsert = script(
    "upsert", EmbeddedText.upsert_lua, editsDevices: true, ordersStatements: true, notesDepartures: true)
  static let edit = script(
    "edit", EmbeddedText.edit_lua, editsDevices: true, ordersStatements: true, notesDepartures: true)
  static let trim = script("trim", EmbeddedText.trim_lua)

  static let repairCampaign = script("repaircampaign", EmbeddedText.repaircampaign_lua)
  static let repairWorker = script("repairworker", EmbeddedText.repairworker_lua)
  static let repairRetry = script("repairretry", EmbeddedText.repairretry_lua)
  static let repairUsers = script("repairusers", EmbeddedText.repairusers_lua, editsDevices: true)
  static let repairQuarantine = script("repairquarantine", EmbeddedText.repairquarantine_lua, editsDevices: true)
  static let repairPlace = script("repairplace", EmbeddedText.repairplace_lua)
  static let repairMembers = script(
    "repairmembers", EmbeddedText.repairmembers_lua, ordersStatements: true, notesDepartures: true)
  static let repairList = script("repairlist", EmbeddedText.repairlist_lua)
  static let repairPressure = script(
    "repairpressure", EmbeddedText.repairpressure_lua, countsUsers: true, ordersStatements: true)
  static let repairName = script("repairname", EmbeddedText.repairname_lua)
  static let repairOwners = script("repairowners", EmbeddedText.repairowners_lua)

  /// Creates a script, with the files of shared functions that it calls.
  ///
  /// - Parameters:
  ///   - editsDevices: inserts `device.lua` after the `#!lua` line, which must stay first.
  ///   - looksAtSlice: inserts `sound.lua`.
  ///   - countsUsers: inserts `pressure.lua`.
  ///   - addsSlices: inserts `absent.lua`.
  ///   - derivesOutcomes: inserts `outcome.lua`.
  ///   - ordersStatements: inserts `marks.lua`.
  ///   - asksForRecipients: inserts `recipients.lua` after `outcome.lua`, which it calls.
  ///   - readsDepartures: inserts `departures.lua`.
  ///   - notesDepartures: inserts `depart.lua` after `departures.lua`, which it calls.
  ///   - grantsTargets: inserts `grant.lua` after `device.lua`, `pressure.lua` and `outcome.lua`, which it calls.
  private static func script(
    _ name: String, _ text: String, editsDevices: Bool = false, looksAtSlice: Bool = false,
    countsUsers: Bool = false, addsSlices: Bool = false, derivesOutcomes: Bool = false,
    ordersStatements: Bool = false, asksForRecipients: Bool = false, readsDepartures: Bool = false,
    notesDepartures: Bool = false, grantsTargets: Bool = false
  ) -> RedisScript {
    var source = text
    // Each shared file is inserted in front of the files that were inserted before.
    var parts: [String] = []
    if grantsTargets { parts.append(EmbeddedText.grant_lua) }
    if notesDepartures { parts.append(EmbeddedText.depart_lua) }
    if readsDepartures || notesDepartures { parts.append(EmbeddedText.departures_lua) }
    if looksAtSlice { parts.append(EmbeddedText.sound_lua) }
    if editsDevices { parts.append(EmbeddedText.device_lua) }
    if countsUsers { parts.append(EmbeddedText.pressure_lua) }
    if addsSlices { parts.append(EmbeddedText.absent_lua) }
    if asksForRecipients { parts.append(EmbeddedText.recipients_lua) }
    if derivesOutcomes || asksForRecipients { parts.append(EmbeddedText.outcome_lua) }
    if ordersStatements { parts.append(EmbeddedText.marks_lua) }
    for part in parts {
      guard let lineEnd = source.firstIndex(of: "\n") else { break }
      source.insert(contentsOf: part, at: source.index(after: lineEnd))
    }
    #if DEBUG
      ScriptMutation.ofProcess?.apply(to: &source, named: name)
    #endif
    return RedisScript(name: name, source: source)
  }
}
