/// Checks of the store, and the isolation of what is damaged.
public struct Repair: StoreRoom {
  let store: CampaignStore
}
