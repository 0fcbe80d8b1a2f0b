import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Runs a slice on this worker: claims, prepares, drives and releases it.
struct SliceRunner: WorkerPart {
  let environment: WorkerEnvironment
  let slices: SliceTable
  let campaigns: CampaignTable
  let abandoned: AbandonedSlices
  let claimer: SliceClaimer
  let preparation: SlicePreparation
  let driver: SliceDriver
  let release: SliceRelease
  let follower: CampaignFollower
  let damage: DamageIsolator

  /// Works on a slice until it is finished, parked (released until a later time), given back or lost.
  func work(on reference: SliceReference) async {
    do {
      let epoch = campaigns.epoch
      if let session = try await claimer.claim(reference) {
        // After the state was read, an operator may have paused or cancelled the campaign. The worker may already have
        // reported the control epoch of this change as applied.
        if campaigns.epoch != epoch {
          do { try await follower.follow() } catch {
            release.discard(session)
            throw error
          }
        }
        return await work(apart: session)
      }
    } catch {
      // The reference stays in the worker's list, and the lease expires. Another worker then takes the slice over.
      log.report("slice", of: reference, error)
      await damage.repair(error, of: reference)
    }
    slices.drop(reference)
    wakeClaims()
  }

  /// Works on a claimed slice in a separate task.
  ///
  /// - Parameter isPrepared: Whether the slice's targets, and the targets in doubt of an earlier owner, are known.
  func work(apart session: SliceSession, isPrepared: Bool = false) async {
    do {
      defer { release.discard(session) }
      var mayDrive = isPrepared
      if !mayDrive { mayDrive = try await preparation.prepare(session) }
      // The worker takes an abandoned slice even if it holds its maximum number of slices.
      if !abandoned.isEmpty { wakeClaims() }
      // Leases guard trial sends and rate permits for the slice now, instead of at the next tick.
      if mayDrive, !isPrepared { wakeSlices(takingMore: false) }
      if mayDrive { try await driver.drive(session) }
    } catch {
      log.report("slice", of: session.slice, error)
      await damage.repair(error, of: session.slice)
    }
    slices.drop(session.slice)
    wakeClaims()
  }

  /// Ends the work on a slice that is not held, after an error.
  func drop(_ reference: SliceReference, _ error: any Error) async {
    log.report("slice", of: reference, error)
    await damage.repair(error, of: reference)
    slices.drop(reference)
  }
}
