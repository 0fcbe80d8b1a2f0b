import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Takes a slice through its life on this worker: claims, prepares and drives it, and lets go of it.
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

  /// Works on a slice until it is finished, parked, given back or lost.
  func work(on reference: SliceReference) async {
    do {
      let epoch = campaigns.epoch
      if let session = try await claimer.claim(reference) {
        // Paused or cancelled since its state was read: we may have said already that we have followed.
        if campaigns.epoch != epoch {
          do { try await follower.follow() } catch {
            release.discard(session)
            throw error
          }
        }
        return await work(apart: session)
      }
    } catch {
      // The reference stays in our list and the lease runs out: a takeover finds both.
      log.report("slice", of: reference, error)
      await damage.mend(error, of: reference)
    }
    slices.drop(reference)
    wakeClaims()
  }

  /// Goes on with a slice that is claimed, apart from any other.
  ///
  /// - Parameter isPrepared: whether its targets are known, and what an earlier owner left in doubt.
  func work(apart session: SliceSession, isPrepared: Bool = false) async {
    do {
      defer { release.discard(session) }
      var mayDrive = isPrepared
      if !mayDrive { mayDrive = try await preparation.prepare(session) }
      // The next of what dead workers left is taken up whatever is in hand.
      if !abandoned.isEmpty { wakeClaims() }
      if mayDrive { try await driver.drive(session) }
    } catch {
      log.report("slice", of: session.slice, error)
      await damage.mend(error, of: session.slice)
    }
    slices.drop(session.slice)
    wakeClaims()
  }

  /// Ends the work on a slice that is not in hand, after an error.
  func drop(_ reference: SliceReference, _ error: any Error) async {
    log.report("slice", of: reference, error)
    await damage.mend(error, of: reference)
    slices.drop(reference)
  }
}
