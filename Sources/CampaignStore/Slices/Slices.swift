/// The slices of running campaigns: the lists of references, the claims and the ledgers.
public struct Slices: StoreRoom {
  let store: CampaignStore
}
