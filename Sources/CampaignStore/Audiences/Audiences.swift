/// Segments and their definitions, and the number of users and targets of an audience.
public struct Audiences: StoreRoom {
  let store: CampaignStore
}
