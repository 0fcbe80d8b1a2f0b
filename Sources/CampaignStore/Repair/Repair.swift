/// Checks the consistency of the store, and isolates damaged data.
///
/// **Values that are read.** Other programs can write to this Redis. `StoredKey` has the type and the owner of each
/// key. `StoredHash` has the allowed values of fields with which the store computes, and `StoredFields` is the only way
/// to read these. Scripts compute with the values that they find, so `sound.lua` refuses a slice with impossible
/// numbers. Any other failure on a value (`WRONGTYPE`, errors of Lua) leads to an inspection (`Inspection`). The
/// `StoreError` is then `damaged`. It names the key, the field and the expected value, and its `Damage` has the
/// affected object. A worker isolates that object (`TakingOut`); a command only reports it.
///
/// **Repairs.** The check repairs data that can be derived from other keys. Three kinds of findings need an operator:
/// numbers that disagree, values that Carillon did not write (workers isolate those), and unknown keys. Harmless data
/// is not reported: workers drop references to missing campaigns, and isolated slices stay. The order matters: first
/// users in wrong partitions, then the owners of tokens, then the data of each partition. If a key that everything
/// depends on has a wrong type, the check ends after the first pass. If a key of one partition has a wrong type, only
/// the checks that need this key are skipped.
///
/// **User ids of older versions.** `OldIdentifier` compares every id with the form that `UserID` reads from it. Three
/// passes repair a store, in this order:
///
/// 1. `addPresentForms` (`repairmembers`) adds the present ids to suppression lists, then to segments. If a user has
///    entries under both forms, the latest one wins. If they have the same time, the opt-out wins.
/// 2. `renames` registers the devices for the present ids, and adds attributes, badges and caps (`repairpressure`). It
///    removes the devices from the old ids with a departure, and then the other data if it has not changed
///    (`repairname`).
/// 3. `members` removes the old ids from the lists (`repairlist`), unless they still have a device.
///
/// Every step can be repeated. An old id stays on its lists while it has a device. The present id is on these lists
/// before it gets a device. A user who has opted out therefore gets no push between two steps. `renames` runs before
/// tokens and owners are compared, because an interrupted repair leaves a device with two users. Unfinished erasures
/// are left alone. Digests in `removals` and `erased`, and the keys of campaigns, keep the old ids.
public struct Repair: StoreRoom {
  let store: CampaignStore
}
