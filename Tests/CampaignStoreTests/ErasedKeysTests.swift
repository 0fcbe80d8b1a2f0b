@testable import CampaignStore
import Foundation
import TestKit
import Testing

/// Table of every key form: whether it may hold a user's id, token or value, and which step erases it.
struct ErasedKeysTests {
  /// Effect of an erasure on a key.
  enum Answer: Equatable {
    /// Erased, with the name of the step.
    case erased(by: String)
    /// Holds nothing of a user, with the reason.
    case holdsNone(String)
    /// Stays, with the time when it ends.
    case stays(until: String)
  }

  static let control: [String: Answer] = [
    "store": .holdsNone("numbers"), "campaigns": .erased(by: "withoutErased"), "intake": .erased(by: "withoutErased"),
    "registrations": .erased(by: "eraseFromWaitingEvents"), "receipts": .erased(by: "eraseFromWaitingEvents"),
    "attempts": .holdsNone("digests of jobs"), "job": .holdsNone("digest of a job"),
    "submitter": .holdsNone("digest of a job, name of a colleague"), "campaign": .erased(by: "eraseFromJob"),
    "timeline": .holdsNone("what colleagues and workers did"), "trial": .holdsNone("numbers"),
    "watch": .holdsNone("numbers"), "rate": .holdsNone("numbers"), "apprate": .holdsNone("numbers"),
    "backendrate": .holdsNone("numbers"), "quota": .holdsNone("numbers"), "answers": .holdsNone("numbers"),
    "ranking": .holdsNone("numbers"),
    "waiting": .holdsNone("names of workers, reasons"), "declines": .holdsNone("names of workers"),
    "finished": .holdsNone("bitmap"), "open": .holdsNone("numbers"), "lane": .holdsNone("ids of campaigns"),
    "processing": .holdsNone("references to slices"), "workers": .holdsNone("names of workers"),
    "instances": .holdsNone("names of workers"), "reports": .holdsNone("what workers say of themselves"),
    "housekeeper": .holdsNone("name of a worker"), "housekeeping": .holdsNone("numbers"),
    "parked": .holdsNone("references to slices"), "running": .holdsNone("ids of campaigns"),
    "approvals": .holdsNone("ids of campaigns"), "schedule": .holdsNone("ids of campaigns"),
    "gates": .holdsNone("ids of campaigns"),
    "epoch": .holdsNone("number"), "failover": .holdsNone("number"), "applied": .holdsNone("names of workers"),
    "ended": .holdsNone("ids of campaigns"), "expiring": .holdsNone("ids of campaigns"),
    "all": .holdsNone("ids of campaigns"), "dead": .erased(by: "eraseFromDeadList"),
    "audit": .holdsNone("the audit log names no users"), "changes": .holdsNone("ids of campaigns"),
    "webhooks": .holdsNone("names of webhooks"), "backends": .holdsNone("names of apps"),
    "alarms": .holdsNone("what alarms say of the fleet"), "events": .erased(by: "eraseFromEvents"),
    "feedback": .erased(by: "forgetFeedback"), "erasing": .erased(by: "settle"), "import": .holdsNone("numbers"),
    "template": .holdsNone("content that colleagues write"), "templates": .holdsNone("names of templates"),
    "definitions": .holdsNone("rules that colleagues write"), "activities": .holdsNone("names of activities"),
    "segments": .holdsNone("names of segments"), "aside": .stays(until: "a week after the damage"),
  ]

  static let slice: [String: Answer] = [
    "users": .erased(by: "edit"), "devices": .erased(by: "edit"), "quarantine": .erased(by: "edit"),
    "attributes": .erased(by: "eraseuser"), "pressure": .erased(by: "eraseuser"),
    "retained": .erased(by: "eraseuser"), "segment": .erased(by: "eraseuser"), "stated": .erased(by: "eraseuser"),
    "owner": .erased(by: "unbind"), "moving": .stays(until: "the registration ends, some seconds"),
    "taken": .holdsNone("number"), "departures": .holdsNone("fingerprints of 32 bits"),
    "removals": .holdsNone("digests"), "erased": .holdsNone("digests"),
    "importing": .stays(until: "the import is put in force without the user, at most a day"),
    "delivered": .erased(by: "eraseFromSets"), "opened": .erased(by: "eraseFromSets"),
    "dismissed": .erased(by: "eraseFromSets"), "recipients": .erased(by: "blank"),
    "arrivals": .erased(by: "erase"), "audience": .erased(by: "eraseFromSets"), "values": .erased(by: "eraseFromSets"),
    "slice": .holdsNone("numbers, places of erased targets"),
    "building": .stays(until: "the seal, at most two hours: PendingErasure.longest"),
    "control": .erased(by: "blankcontrol"),
    "targets": .erased(by: "blank"), "ledger": .holdsNone("records without ids"),
    "retry": .holdsNone("places of targets"),
    "reasons": .holdsNone("texts of the push service"), "results": .erased(by: "eraseFromSets"),
    "outbox": .erased(by: "deliverFeedback"),
  ]

  private func source(_ path: String) throws -> String {
    try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../Sources/CampaignStore/\(path)"),
      encoding: .utf8)
  }

  /// A new key form needs a row.
  @Test func everyKeyFormHasARow() throws {
    let keyspace = try source("Storage/Keyspace.swift")
    // Channels are not keys, and `home` does not name a key of its own.
    let control = Set(keyspace.matches(of: /control \+ "([a-z]+)/).map { String($0.1) })
      .union(["registrations", "receipts"]).subtracting(["wake", "presence"])
    let slice = Set(keyspace.matches(of: /slice\(partition, "([a-z]+)/).map { String($0.1) })
      .union(["delivered", "opened", "dismissed"])
    expect(control, is: Set(Self.control.keys), "\(control.symmetricDifference(Self.control.keys))")
    expect(slice, is: Set(Self.slice.keys), "\(slice.symmetricDifference(Self.slice.keys))")
    // `StoredKey` has the type of each key form.
    let keys = try #require(Keyspace(namespace: "n", partitions: 1))
    for name in control where name != "aside" { expect(StoredKey("{n}:\(name):x", keys) != nil, "\(name)") }
    for name in slice { expect(StoredKey("{n:0}:\(name):x", keys) != nil, "\(name)") }
  }

  /// The steps that the table names exist.
  @Test func everyStepOfTheTableExists() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/CampaignStore")
    var text = ""
    for case let file as URL in FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
      ?? FileManager.DirectoryEnumerator()
    {
      if file.pathExtension == "swift" { text += try String(contentsOf: file, encoding: .utf8) }
      if file.pathExtension == "lua" { text += "script \(file.deletingPathExtension().lastPathComponent)\n" }
    }
    for answer in Array(Self.control.values) + Self.slice.values {
      guard case .erased(let step) = answer else { continue }
      expect(text.contains("func \(step)(") || text.contains("script \(step)\n"), "\(step)")
    }
  }
}
