/// Erases a user from every key of the store.
///
/// `erase` first stores a record of the erasure in the hash `erasing`, and removes this record with its last step. The
/// record stays while a worker builds a slice of the user's partition, because the worker may have read the user
/// already. In that case, `finishErasures` erases the user from the slice after its targets are sealed, at the latest
/// two hours after the erasure (`PendingErasure.longest`).
///
/// A waiting job that names the user keeps its text: the digest that Redis stores for the job's id, and the command
/// that removes the job from its list, depend on the text. The record in `erasing` names such jobs. `withoutErased`
/// removes the user when a worker takes the job in. When the job is in no list any more, housekeeping erases the user
/// from the campaign of the job and from the dead list.
///
/// A worker that reads an erased target records it as `deviceGone`, or as `unknown` if an attempt was sent and not
/// answered. The script `blank` erases targets and sets the slice's `format` to the present version. Workers that know
/// only formats before 6 would treat a target without a token as damage.
public struct Erasure: StoreRoom {
  let store: CampaignStore
}
