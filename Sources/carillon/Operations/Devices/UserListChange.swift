import CampaignStore
import CommandSupport
import PushCore

/// Changes segments and suppression lists for a command or a request. Each change is recorded in the audit log.
struct UserListChange {
  let store: CampaignStore
  let actor: Actor

  /// Adds users to a segment. Creates the segment if needed.
  ///
  /// - Returns: the number of these users that have a device.
  func add(_ users: [String], to segment: String) async throws -> Int {
    try await store.audiences.checkNotDefined(segment)
    let known = try await store.audiences.add(users, to: segment)
    await record(.segmentAdd, segment, users: users.count)
    return known
  }

  /// Removes users from a segment.
  ///
  /// - Returns: the number of removed users.
  /// - Throws: `CommandError` `notFound` if there is no such segment.
  func remove(_ users: [String], from segment: String) async throws -> Int {
    try await store.audiences.checkNotDefined(segment)
    let names = try await store.audiences.segmentNames()
    guard names.contains(segment) else {
      throw CommandError(
        .notFound, "there is no segment \(Excerpt.quoted(segment))", hint: Nearest.hint(segment, among: names))
    }
    let removed = try await store.audiences.remove(users, from: segment)
    await record(.segmentRemove, segment, users: removed)
    return removed
  }

  /// Defines a segment by an expression and an optional condition.
  func define(_ segment: String, _ definition: SegmentDefinition) async throws {
    try await store.audiences.define(segment, definition)
    await AuditTrail(store).record(actor, .segmentDefine, segment, detail: "\(definition)")
  }

  /// Removes a whole segment.
  ///
  /// - Throws: `CommandError` `notFound` if there is no such segment.
  func remove(segment: String) async throws {
    guard PlainName.isValid(segment), try await store.audiences.removeSegment(segment) else {
      throw CommandError(
        .notFound, "there is no segment \(Excerpt.quoted(segment))",
        hint: Nearest.hint(
          segment, among: try await store.audiences.segmentNames() + store.audiences.definitions().all.keys))
    }
    await AuditTrail(store).record(actor, .segmentDelete, segment)
  }

  /// Adds users to a suppression list.
  func suppress(_ users: [String], on list: SuppressionList) async throws {
    _ = try await store.audiences.add(users, to: list.segment)
    await record(.suppressionAdd, list.title, users: users.count)
  }

  /// Removes users from a suppression list.
  ///
  /// - Returns: the number of removed users.
  func release(_ users: [String], from list: SuppressionList) async throws -> Int {
    let removed = try await store.audiences.remove(users, from: list.segment)
    await record(.suppressionRemove, list.title, users: removed)
    return removed
  }

  /// Records the import of a file.
  ///
  /// - Parameters:
  ///   - segment: the segment that stores the list.
  ///   - isReplaced: whether the list has only the users of the file.
  func recordImport(of users: Int, into segment: String, isReplaced: Bool) async {
    let list = SuppressionList(segment: segment)
    let action: AuditAction =
      list == nil
      ? isReplaced ? .segmentReplace : .segmentImport : isReplaced ? .suppressionReplace : .suppressionImport
    await record(action, list?.title ?? segment, users: users)
  }

  private func record(_ action: AuditAction, _ subject: String, users: Int) async {
    await AuditTrail(store).record(actor, action, subject, detail: "\(users) users")
  }
}
