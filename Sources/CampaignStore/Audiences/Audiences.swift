/// Segments and their definitions, and the number of users and targets that an audience has.
public struct Audiences: StoreRoom {
  let store: CampaignStore
}
