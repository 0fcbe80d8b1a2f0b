/// Users and their devices: registration, registration events, attributes, Live Activities.
///
/// **Events.** The maintenance leader reads the lists `registrations` and `receipts` a page at a time, applies the
/// page, and removes it from the list (`takeoff`, which succeeds only under its lease). If the leader dies, the next
/// one applies its page again. The field `taken:LIST` of `housekeeping` counts the events that have left a list.
/// `EventBatch` combines events that do not depend on each other, so that each kind needs one script call for each
/// partition.
///
/// **Waiting campaigns.** Before a worker gets the first slice of a campaign to users (`dequeue`), the campaign waits.
/// The wait ends when the events that were on `registrations` at that time are applied. This also applies to scheduled
/// campaigns, stages and runs. After `EventWait.longest` (5 s) the campaign begins. Its field `eventsNotApplied` then
/// has the number of remaining events, and the worker logs `eventsNotApplied`. If the list is empty, this costs one
/// `LLEN` for each campaign.
///
/// **Order.** An event, an import row or a command makes *statements* about users, such as "this user has this device".
/// Every statement has a time, and the newest one wins, in whatever order they arrive. The script that writes the data
/// compares the times. A suspended worker, or a page that is applied twice, therefore can't undo newer data. The
/// module's README lists where the times are stored. Attributes and badges of a user without a device are retained,
/// because the registration may arrive late. Housekeeping removes everything older than 30 days, a bounded number at a
/// time (`forget`). If the time of a membership is no longer stored, the membership counts as 30 days old. An opt-in
/// that is older and arrives late therefore does not undo the opt-out. Such a time needs about 100 bytes, and is stored
/// for 30 days: for each removed device, and for each user and segment with a change.
///
/// **Receipts.** A receipt counts if a push of the campaign may have been delivered to its user. The first receipt of a
/// slice builds an index of the slice's users (`RecipientIndex`): it reads the targets once, 4,096 at a time, and
/// writes 10 bytes for each. `receipt` finds a user by bisection, with about ten reads. The user's partition has a set
/// for each kind of receipt. An unreadable receipt goes to the dead list, marked as an event.
public struct Registry: StoreRoom {
  let store: CampaignStore
}
