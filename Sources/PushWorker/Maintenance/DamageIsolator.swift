import CampaignStore

/// Isolates slices and campaigns with damaged data in Redis: moves them to the dead list with the reason, so that
/// everything else continues.
struct DamageIsolator: WorkerPart {
  let environment: WorkerEnvironment
  let campaigns: CampaignTable

  /// Handles an error: isolates the slice or the campaign whose data the error reports as damaged.
  ///
  /// The worker renames a damaged list, so that workers can rebuild the list. No worker can repair damaged data that
  /// all campaigns share.
  ///
  /// - Parameter slice: the slice on which the worker was working when the error occurred. The function isolates this
  ///   slice if data of its partition is damaged.
  func repair(_ error: any Error, of slice: SliceReference? = nil) async {
    guard let error = error as? StoreError, let damage = error.damage else { return }
    do {
      switch damage {
      case .slice(let slice): try await takeOut(slice, error)
      case .partition: if let slice { try await takeOut(slice, error) }
      case .campaign(let id):
        if try await sharedStore.repair.takeOut(campaign: id, reason: error.message, hint: error.hint) {
          log.write(.isolated("campaign \(id)", reason: error.message))
        }
      case .list(let key):
        await sharedStore.repair.setAside(damaged: key)
        wakeClaims()
      case .catalog, .shared: break
      }
    } catch {
      log.report("could not isolate damaged data", error)
    }
  }

  private func takeOut(_ slice: SliceReference, _ error: StoreError) async throws {
    let state = try await sharedStore.repair.takeOut(
      slice, reason: error.message, hint: error.hint, worker: environment.configuration.name)
    log.write(.isolated("slice \(slice)", reason: error.message))
    if let state {
      campaigns.drop(slice.campaign)
      log.write(.ended(campaign: slice.campaign, state: state))
    }
  }
}
