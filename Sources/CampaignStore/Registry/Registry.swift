/// Users and their devices: registration, registration events, attributes, Live Activities.
public struct Registry: StoreRoom {
  let store: CampaignStore
}
