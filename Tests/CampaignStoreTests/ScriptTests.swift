@testable import CampaignStore
import Foundation
import Redis
import TestKit
import TestSupport
import Testing

/// Checks of the scripts' source text.
struct ScriptTests {
  private static let all = [
    StoreScripts.initialise, StoreScripts.hold, StoreScripts.reslice, StoreScripts.moveUsers,
    StoreScripts.moveOwners, StoreScripts.repartition, StoreScripts.submit, StoreScripts.reserve, StoreScripts.activate,
    StoreScripts.deadLetter, StoreScripts.beginJob, StoreScripts.acknowledge,
    StoreScripts.rotate, StoreScripts.dequeue, StoreScripts.dequeueLeft, StoreScripts.requeue, StoreScripts.park,
    StoreScripts.finish, StoreScripts.endPart, StoreScripts.openGate, StoreScripts.deferGate,
    StoreScripts.control, StoreScripts.guardTrial, StoreScripts.guardWatch, StoreScripts.decline, StoreScripts.bisect,
    StoreScripts.standDown, StoreScripts.housekeep, StoreScripts.join, StoreScripts.expire,
    StoreScripts.unpark, StoreScripts.reopen, StoreScripts.idle, StoreScripts.view, StoreScripts.reached,
    StoreScripts.takeOff,
    StoreScripts.setAttributes, StoreScripts.retryEvent, StoreScripts.receipt, StoreScripts.noteReceipts,
    StoreScripts.alarm, StoreScripts.backlog, StoreScripts.oldest, StoreScripts.rights, StoreScripts.heartbeat,
    StoreScripts.removeWorker, StoreScripts.claim, StoreScripts.seal, StoreScripts.commit,
    StoreScripts.unclaim, StoreScripts.close, StoreScripts.noteActivity, StoreScripts.bind, StoreScripts.settle,
    StoreScripts.unbind,
    StoreScripts.upsert,
    StoreScripts.edit, StoreScripts.trim, StoreScripts.syncControl, StoreScripts.lagging, StoreScripts.promote,
    StoreScripts.narrow,
    StoreScripts.addSlice, StoreScripts.rate, StoreScripts.acceptLate, StoreScripts.queue, StoreScripts.unqueue,
    StoreScripts.prune, StoreScripts.setAside, StoreScripts.repeatRun, StoreScripts.rank, StoreScripts.quota,
    StoreScripts.decide,
    StoreScripts.regrant, StoreScripts.setBadges, StoreScripts.setMembers, StoreScripts.putInForce,
    StoreScripts.listing, StoreScripts.replaceJob, StoreScripts.replaceDead, StoreScripts.eraseEvents,
    StoreScripts.eraseUser, StoreScripts.blank, StoreScripts.blankControl, StoreScripts.forget, StoreScripts.define,
    StoreScripts.putTemplate,
    StoreScripts.takeOutSlice, StoreScripts.takeOutCampaign,
    StoreScripts.repairCampaign, StoreScripts.repairWorker, StoreScripts.repairRetry, StoreScripts.repairUsers,
    StoreScripts.repairQuarantine, StoreScripts.repairPlace, StoreScripts.repairOwners,
    StoreScripts.repairMembers, StoreScripts.repairList, StoreScripts.repairPressure, StoreScripts.repairName,
  ]

  @Test func noneIsLeftOut() throws {
    // Functions that several scripts share are in files of their own.
    let shared: Set = [
      "device", "sound", "pressure", "absent", "outcome", "marks", "recipients", "departures", "depart", "grant",
    ]
    let files = Set(try StoreScriptFiles.sources().keys)
    expect(files.subtracting(shared), is: Set(Self.all.map(\.name)))
  }

  /// A mutant whose text a script no longer contains would test nothing.
  @Test func everyMutantOfAScriptIsInItsText() throws {
    let file = URL(filePath: #filePath).appending(path: "../../LedgerModel/README.md").standardized
    let page = try String(contentsOf: file, encoding: .utf8)
    let row = /\| ((?:`\w+`(?:, )?)+) \| `(.+?)` \| .+? \| .+? \|/
    var count = 0
    for line in page.split(separator: "\n") {
      guard let match = line.wholeMatch(of: row) else { continue }
      for name in match.1.matches(of: /\w+/) {
        let script = Self.all.first { $0.name == name.output }
        expect(script?.source.contains(match.2), is: true, "\(line)")
        count += 1
      }
    }
    expect(count > 50)
  }

  /// A cluster rejects an undeclared key of another slot only. A key of the same slot would work until slots move.
  @Test func everyKeyIsDeclared() {
    for script in Self.all { expectDeclaredKeys(script) }
  }

  private func expectDeclaredKeys(_ script: RedisScript) {
    for line in script.source.split(separator: "\n") {
      for call in line.split(separator: "redis.call(", omittingEmptySubsequences: false).dropFirst() {
        let arguments = call.split(separator: ",").map { $0.trimmingPrefix { $0 == " " } }
        guard arguments.count > 1 else {
          expect(call.hasPrefix("'TIME')"), "\(script.name): \(line)")
          continue
        }
        // Parameters of shared functions, which get their keys from the scripts.
        let parameters: [Substring] = [
          "devices", "users", "attributes", "pressure", "quarantine", "campaign", "erased", "retained",
          "recipients", "ledger", "departures", "targets", "listed",
        ]
        let isKey =
          arguments[1].hasPrefix("KEYS[") || arguments[1] == "unpack(KEYS"
          || parameters.contains { arguments[1] == $0 || arguments[1].hasPrefix("\($0))") }
        expect(isKey || call.hasPrefix("'TIME')"), "\(script.name): \(line)")
      }
    }
  }

  @Test func headHasTheSummaryAndTheInvariant() {
    for script in Self.all { expectHead(script) }
  }

  private func expectHead(_ script: RedisScript) {
    let flags = ["", " flags=no-writes", " flags=allow-oom"]
    expect(flags.contains { script.source.hasPrefix("#!lua\($0)\n") })
    expect(script.source.contains("\n-- \(script.name): "))
    for word in ["-- Invariant: ", "-- KEYS 1 ", "-- Returns "] {
      expect(script.source.contains("\n" + word), "\(script.name): \(word)")
    }
  }
}
