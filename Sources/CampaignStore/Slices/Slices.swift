/// The slices of running campaigns: the lists of references to slices, the claims and the ledgers.
public struct Slices: StoreRoom {
  let store: CampaignStore
}
