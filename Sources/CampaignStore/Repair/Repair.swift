/// Checks the consistency of the store, and isolates damaged data.
///
/// **Values that are read.** Other programs can write to this Redis. `StoredKey` has the type and the owner of each
/// key. `StoredHash` has the allowed values of fields with which the store computes, and `StoredFields` is the only way
/// to read these. Scripts compute with the values that they find, so `sound.lua` refuses a slice with impossible
/// numbers. Any other failure on a value (`WRONGTYPE`, errors of Lua) leads to an inspection (`Inspection`). The
/// `StoreError` is then `damaged`. It names the key, the field and the expected value, and its `Damage` has the
/// affected object. A worker isolates that object (`TakingOut`); a command only reports it.
///
/// **Repairs.** The check repairs data that follows from other keys. Three kinds of findings need an operator: numbers
/// that disagree, values that Carillon did not write (workers isolate those), and unknown keys. Data without any effect
/// is not reported: workers drop references to missing campaigns, and isolated slices stay. The order matters: first
/// users in wrong partitions, then the owners of tokens, then the data of each partition. A wrong type of a key that
/// everything depends on ends the check after the first pass. A wrong type of a key of one partition only leaves out
/// the checks that need this key.
///
/// **User ids of older versions.** `OldIdentifier` compares every id with the form that `UserID` reads from it. Three
/// passes repair a store, in this order:
///
/// 1. `unite` (`repairmembers`) enters the present ids into suppression lists, then into segments. The latest statement
///    about both forms wins; at the same time the opt-out wins.
/// 2. `renames` registers the devices for the present ids, and adds attributes, badges and caps (`repairpressure`). It
///    removes the devices from the old ids with a departure, and then the other data if it has not changed
///    (`repairname`).
/// 3. `members` removes the old ids from the lists (`repairlist`), unless they still have a device.
///
/// Every step can be repeated. An old id stays on its lists while it has a device, and the present id is on them before
/// it has one. So a user who has opted out can't be reached between two steps. `renames` runs before tokens and owners
/// are compared, because an interrupted repair leaves a device with two users. Unfinished erasures are left alone.
/// Digests in `removals` and `erased`, and the keys of campaigns, keep the old ids.
public struct Repair: StoreRoom {
  let store: CampaignStore
}
