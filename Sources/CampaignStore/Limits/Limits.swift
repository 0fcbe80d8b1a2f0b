/// Limits for the pushes of all workers together: rates, backends, guard trials, memory.
public struct Limits: StoreRoom {
  let store: CampaignStore
}
