/// Checks the consistency of the store, and isolates damaged data.
public struct Repair: StoreRoom {
  let store: CampaignStore
}
