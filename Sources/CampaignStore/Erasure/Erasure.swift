/// Erases a user from every key.
public struct Erasure: StoreRoom {
  let store: CampaignStore
}
