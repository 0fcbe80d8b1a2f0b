/// The slices of running campaigns: which worker has which, and the ledger of each.
public struct Slices: StoreRoom {
  let store: CampaignStore
}
