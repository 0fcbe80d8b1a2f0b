/// Erases a user from every key.
///
/// `forget` records the erasure in `erasing` first, and removes the record with its last step. The record stays while a
/// worker builds a slice of the user's partition, because the worker may have read the user already. `finishErasures`
/// then erases the user from the slice after its targets are sealed, at the latest two hours after the erasure
/// (`PendingErasure.longest`).
///
/// A waiting job that names the user keeps its text, because its producer's digest and the worker's acknowledgement
/// depend on the text. The record names such jobs. `withoutErased` removes the user when a worker takes the job in.
/// When no list has the job, housekeeping erases the user from its campaign and from the dead list.
///
/// A worker that reads an erased target records it as `deviceGone`, or as `unknown` if an attempt was sent and not
/// answered. `blank` sets the slice's `format` to the present version, because workers that know only formats before 6
/// treat a target without a token as damage.
public struct Erasure: StoreRoom {
  let store: CampaignStore
}
