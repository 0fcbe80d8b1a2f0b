import Redis

/// The Lua scripts that change the store. Each is a file in a folder `Scripts`, embedded at build time.
enum StoreScripts {
  static let initialise = script("initialise", PackageResources.initialise_lua)
  static let hold = script("hold", PackageResources.hold_lua)
  static let reslice = script("reslice", PackageResources.reslice_lua)
  static let moveUsers = script("moveusers", PackageResources.moveusers_lua, editsDevices: true)
  static let moveOwners = script("moveowners", PackageResources.moveowners_lua)
  static let repartition = script("repartition", PackageResources.repartition_lua)

  static let queue = script("queue", PackageResources.queue_lua)
  static let unqueue = script("unqueue", PackageResources.unqueue_lua)
  static let putTemplate = script("puttemplate", PackageResources.puttemplate_lua)
  static let submit = script("submit", PackageResources.submit_lua)
  static let reserve = script("reserve", PackageResources.reserve_lua)
  static let activate = script("activate", PackageResources.activate_lua)
  static let acknowledge = script("acknowledge", PackageResources.acknowledge_lua)
  static let beginJob = script("beginjob", PackageResources.beginjob_lua)
  static let deadLetter = script("deadletter", PackageResources.deadletter_lua)

  static let rotate = script("rotate", PackageResources.rotate_lua)
  static let dequeue = script("dequeue", PackageResources.dequeue_lua)
  static let dequeueLeft = script("dequeueleft", PackageResources.dequeueleft_lua)
  static let requeue = script("requeue", PackageResources.requeue_lua)
  static let park = script("park", PackageResources.park_lua)
  static let takeOutSlice = script("takeoutslice", PackageResources.takeoutslice_lua)
  static let takeOutCampaign = script("takeoutcampaign", PackageResources.takeoutcampaign_lua)
  static let setAside = script("setaside", PackageResources.setaside_lua)
  static let prune = script("prune", PackageResources.prune_lua)
  static let finish = script("finish", PackageResources.finish_lua, addsSlices: true)
  static let endPart = script("endpart", PackageResources.endpart_lua)
  static let openGate = script("opengate", PackageResources.opengate_lua)
  static let deferGate = script("defergate", PackageResources.defergate_lua)
  static let control = script("control", PackageResources.control_lua)
  static let syncControl = script("synccontrol", PackageResources.synccontrol_lua)
  static let decline = script("decline", PackageResources.decline_lua)
  static let standDown = script("standdown", PackageResources.standdown_lua)
  static let lagging = script("lagging", PackageResources.lagging_lua)
  static let guardWatch = script("guardwatch", PackageResources.guardwatch_lua)
  static let guardTrial = script("guardtrial", PackageResources.guardtrial_lua)
  static let rate = script("rate", PackageResources.rate_lua)
  static let define = script("define", PackageResources.define_lua)
  static let repeatRun = script("repeat", PackageResources.repeat_lua)
  static let rank = script("rank", PackageResources.rank_lua)
  static let quota = script("quota", PackageResources.quota_lua)
  static let decide = script("decide", PackageResources.decide_lua)
  static let promote = script("promote", PackageResources.promote_lua)
  static let narrow = script("narrow", PackageResources.narrow_lua)
  static let addSlice = script("addslice", PackageResources.addslice_lua, addsSlices: true)
  static let unpark = script("unpark", PackageResources.unpark_lua)
  static let reopen = script("reopen", PackageResources.reopen_lua)
  static let idle = script("idle", PackageResources.idle_lua)
  static let view = script("view", PackageResources.view_lua)
  static let takeOff = script("takeoff", PackageResources.takeoff_lua)
  static let retryEvent = script("retryevent", PackageResources.retryevent_lua)
  static let receipt = script("receipt", PackageResources.receipt_lua, asksForRecipients: true)
  static let noteReceipts = script("notereceipts", PackageResources.notereceipts_lua)
  static let setBadges = script("setbadges", PackageResources.setbadges_lua, countsUsers: true, ordersStatements: true)
  static let setAttributes = script("setattributes", PackageResources.setattributes_lua, ordersStatements: true)
  static let setMembers = script(
    "setmembers", PackageResources.setmembers_lua, ordersStatements: true, notesDepartures: true)
  static let putInForce = script(
    "putinforce", PackageResources.putinforce_lua, ordersStatements: true, notesDepartures: true)
  static let eraseUser = script(
    "eraseuser", PackageResources.eraseuser_lua, countsUsers: true, ordersStatements: true)
  static let listing = script("listing", PackageResources.listing_lua)
  static let replaceJob = script("replacejob", PackageResources.replacejob_lua)
  static let replaceDead = script("replacedead", PackageResources.replacedead_lua)
  static let eraseEvents = script("eraseevents", PackageResources.eraseevents_lua)
  static let blank = script("blank", PackageResources.blank_lua)
  static let blankControl = script("blankcontrol", PackageResources.blankcontrol_lua)
  static let forget = script("forget", PackageResources.forget_lua, ordersStatements: true)
  static let reached = script("reached", PackageResources.reached_lua, derivesOutcomes: true)
  static let rights = script("rights", PackageResources.rights_lua)
  static let alarm = script("alarm", PackageResources.alarm_lua)
  static let backlog = script("backlog", PackageResources.backlog_lua)
  static let oldest = script("oldest", PackageResources.oldest_lua)
  static let heartbeat = script("heartbeat", PackageResources.heartbeat_lua)
  static let housekeep = script("housekeep", PackageResources.housekeep_lua)
  static let join = script("join", PackageResources.join_lua)
  static let expire = script("expire", PackageResources.expire_lua)
  static let removeWorker = script("removeworker", PackageResources.removeworker_lua)

  static let claim = script("claim", PackageResources.claim_lua, looksAtSlice: true, readsDepartures: true)
  static let seal = script("seal", PackageResources.seal_lua)
  static let commit = script(
    "commit", PackageResources.commit_lua, editsDevices: true, looksAtSlice: true, countsUsers: true,
    derivesOutcomes: true, readsDepartures: true, grantsTargets: true)
  static let regrant = script(
    "regrant", PackageResources.regrant_lua, editsDevices: true, countsUsers: true, derivesOutcomes: true,
    readsDepartures: true, grantsTargets: true)
  static let acceptLate = script(
    "acceptlate", PackageResources.acceptlate_lua, editsDevices: true, countsUsers: true, derivesOutcomes: true,
    grantsTargets: true)
  static let bisect = script("bisect", PackageResources.bisect_lua)
  static let unclaim = script("unclaim", PackageResources.unclaim_lua)
  static let close = script(
    "close", PackageResources.close_lua, editsDevices: true, looksAtSlice: true, countsUsers: true,
    derivesOutcomes: true, grantsTargets: true)

  static let noteActivity = script("noteactivity", PackageResources.noteactivity_lua, ordersStatements: true)
  static let bind = script("bind", PackageResources.bind_lua, ordersStatements: true)
  static let settle = script("settle", PackageResources.settle_lua)
  static let unbind = script("unbind", PackageResources.unbind_lua, ordersStatements: true)
  static let upsert = script(
    "upsert", PackageResources.upsert_lua, editsDevices: true, ordersStatements: true, notesDepartures: true)
  static let edit = script(
    "edit", PackageResources.edit_lua, editsDevices: true, ordersStatements: true, notesDepartures: true)
  static let trim = script("trim", PackageResources.trim_lua)

  static let repairCampaign = script("repaircampaign", PackageResources.repaircampaign_lua)
  static let repairWorker = script("repairworker", PackageResources.repairworker_lua)
  static let repairRetry = script("repairretry", PackageResources.repairretry_lua)
  static let repairUsers = script("repairusers", PackageResources.repairusers_lua, editsDevices: true)
  static let repairQuarantine = script("repairquarantine", PackageResources.repairquarantine_lua, editsDevices: true)
  static let repairPlace = script("repairplace", PackageResources.repairplace_lua)
  static let repairMembers = script(
    "repairmembers", PackageResources.repairmembers_lua, ordersStatements: true, notesDepartures: true)
  static let repairList = script("repairlist", PackageResources.repairlist_lua)
  static let repairPressure = script(
    "repairpressure", PackageResources.repairpressure_lua, countsUsers: true, ordersStatements: true)
  static let repairName = script("repairname", PackageResources.repairname_lua)
  static let repairOwners = script("repairowners", PackageResources.repairowners_lua)

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
    _ name: String, _ bytes: [UInt8], editsDevices: Bool = false, looksAtSlice: Bool = false,
    countsUsers: Bool = false, addsSlices: Bool = false, derivesOutcomes: Bool = false,
    ordersStatements: Bool = false, asksForRecipients: Bool = false, readsDepartures: Bool = false,
    notesDepartures: Bool = false, grantsTargets: Bool = false
  ) -> RedisScript {
    var source = String(decoding: bytes, as: UTF8.self)
    // Each shared file is inserted in front of the files that were inserted before.
    var parts: [[UInt8]] = []
    if grantsTargets { parts.append(PackageResources.grant_lua) }
    if notesDepartures { parts.append(PackageResources.depart_lua) }
    if readsDepartures || notesDepartures { parts.append(PackageResources.departures_lua) }
    if looksAtSlice { parts.append(PackageResources.sound_lua) }
    if editsDevices { parts.append(PackageResources.device_lua) }
    if countsUsers { parts.append(PackageResources.pressure_lua) }
    if addsSlices { parts.append(PackageResources.absent_lua) }
    if asksForRecipients { parts.append(PackageResources.recipients_lua) }
    if derivesOutcomes || asksForRecipients { parts.append(PackageResources.outcome_lua) }
    if ordersStatements { parts.append(PackageResources.marks_lua) }
    for part in parts {
      guard let lineEnd = source.firstIndex(of: "\n") else { break }
      source.insert(contentsOf: String(decoding: part, as: UTF8.self), at: source.index(after: lineEnd))
    }
    #if DEBUG
      ScriptMutation.ofProcess?.apply(to: &source, named: name)
    #endif
    return RedisScript(name: name, source: source)
  }
}
