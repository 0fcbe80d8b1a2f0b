import Redis

/// The transitions of the store: one Lua file each, in `Scripts/`, embedded when the module is built.
enum StoreScripts {
  static let initialise = script("initialise", PackageResources.initialise_lua)

  static let submit = script("submit", PackageResources.submit_lua)
  static let reserve = script("reserve", PackageResources.reserve_lua)
  static let activate = script("activate", PackageResources.activate_lua)
  static let bury = script("bury", PackageResources.bury_lua)

  static let turn = script("turn", PackageResources.turn_lua)
  static let take = script("take", PackageResources.take_lua)
  static let requeue = script("requeue", PackageResources.requeue_lua)
  static let park = script("park", PackageResources.park_lua)
  static let finish = script("finish", PackageResources.finish_lua)
  static let steer = script("steer", PackageResources.steer_lua)
  static let follow = script("follow", PackageResources.follow_lua)
  static let confirm = script("confirm", PackageResources.confirm_lua)
  static let probe = script("probe", PackageResources.probe_lua)
  static let promote = script("promote", PackageResources.promote_lua)
  static let include = script("include", PackageResources.include_lua)
  static let unpark = script("unpark", PackageResources.unpark_lua)
  static let reopen = script("reopen", PackageResources.reopen_lua)
  static let idle = script("idle", PackageResources.idle_lua)
  static let view = script("view", PackageResources.view_lua)
  static let heartbeat = script("heartbeat", PackageResources.heartbeat_lua)
  static let forget = script("forget", PackageResources.forget_lua)

  static let claim = script("claim", PackageResources.claim_lua)
  static let append = script("append", PackageResources.append_lua)
  static let seal = script("seal", PackageResources.seal_lua)
  static let commit = script("commit", PackageResources.commit_lua, editsDevices: true)
  static let overrule = script("overrule", PackageResources.overrule_lua)
  static let tryOnly = script("try", PackageResources.try_lua)
  static let release = script("release", PackageResources.release_lua)
  static let close = script("close", PackageResources.close_lua)

  static let own = script("own", PackageResources.own_lua)
  static let disown = script("disown", PackageResources.disown_lua)
  static let store = script("store", PackageResources.store_lua, editsDevices: true)
  static let drop = script("drop", PackageResources.drop_lua, editsDevices: true)
  static let deliver = script("deliver", PackageResources.deliver_lua)

  /// - Parameter editsDevices: puts `device.lua` behind the `#!lua` line, which must stay the first.
  private static func script(_ name: String, _ bytes: [UInt8], editsDevices: Bool = false) -> RedisScript {
    var source = String(decoding: bytes, as: UTF8.self)
    if editsDevices, let lineEnd = source.firstIndex(of: "\n") {
      source.insert(
        contentsOf: String(decoding: PackageResources.device_lua, as: UTF8.self), at: source.index(after: lineEnd))
    }
    #if DEBUG
      ScriptMutation.ofProcess?.apply(to: &source, named: name)
    #endif
    return RedisScript(name: name, source: source)
  }
}
