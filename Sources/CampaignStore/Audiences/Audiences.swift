/// Segments and their definitions, and the number of users and targets of an audience.
///
/// **Search.** An audience is an `AudienceTerm` over the sets of a partition: registered users, segments, listed users,
/// and users of an earlier campaign. Exclusions and the app's suppression lists are part of the term (`& !`).
/// `AudienceSearch` chooses the sets to read. For an `&`, it reads the smaller side. It never reads all users if a
/// segment suffices (`!a & b` reads `b`). `MemberWalk` reads these sets by cursor, about 500 members a page. It checks
/// the members of each page against every other set with one `SMISMEMBER`, however often the term names the set. The
/// cost is therefore known in advance: the number of pages that are read, multiplied by the number of sets. For
/// example, 256 terms over three segments need two such commands a page.
///
/// **Size of commands.** No command covers more than a page, with one exception: if all users are read, one HGETALL
/// returns the devices of up to 2,048 users. This HGETALL takes Redis as long as two HSCAN pages: 0.36 µs a user
/// instead of 0.67 µs, because HSCAN makes two objects for each user.
///
/// **Suppression lists.** They are segments with reserved names (`~app`, `~app~category`). Most apps have none, so
/// their sizes are read before the first page, and empty ones are left out of the term.
///
/// **Earlier campaigns.** The users of an earlier campaign are not stored as a set. The script `reached` reads them
/// from the targets and the ledger of the slice in the same partition, a few pages in a call. If the search only checks
/// members against these users, the worker loads all of them: at most the users of one partition. The earlier campaign
/// must have ended (`EarlierCampaign`) and must have the store's present number of partitions.
///
/// **Conditions.** A segment that is a rule (`SegmentDefinition`) is replaced by its expression, with `& matching` for
/// its condition. Redis has no set of matching users, so the condition is tested on the devices of a page's members. A
/// campaign stores its rules in the field `definitions`, as they were at its start. The job's condition (`where`) is
/// tested on the device records that are read in any case. If the condition is on attributes, the worker also reads the
/// attributes, in the same round trip. Whether a user is in a `sample` depends on a hash of the user and the campaign's
/// id. A `where` or a `sample` does not reduce the number of partitions.
///
/// **Partitions.** A campaign has a slice in every partition in which it can have a user. For listed users and tokens,
/// intake knows the partitions. Any other campaign has all partitions until it begins to expand. Before that, `dequeue`
/// hands out no reference to a slice. The first worker checks that nothing blocks the expansion. An earlier campaign
/// that has not ended blocks it, and so does a lack of memory. Then one pass of `EXISTS` over the sets finds the
/// partitions, and `narrow` stores them with the definitions. A user who joins an omitted partition after that is not
/// reached. A partition in which the campaign already has a slice is never omitted. If a worker has sealed a slice of
/// an omitted partition, `addslice` adds it.
///
/// **Limit.** A campaign with a limit searches twice. First each slice counts its users by the time they were last seen
/// (`RecencyHistogram`, a few kilobytes) and is parked. The worker that adds the last histogram computes the maximum
/// number of users of each partition (`RecencyQuotas`), stores these quotas in the campaign and opens the slices again
/// (`Ranking`). Then each slice selects the users of its partition who were seen last, up to its quota (`BestUsers`).
/// Stored quotas never change, so all slices together never exceed the limit, even if users register in between.
public struct Audiences: StoreRoom {
  let store: CampaignStore
}
