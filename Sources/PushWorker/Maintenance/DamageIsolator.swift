import CampaignStore

/// Takes slices and campaigns with damaged data in Redis out, with the reason, to the dead list, so that everything else goes on.
struct DamageIsolator: WorkerPart {
  let environment: WorkerEnvironment
  let campaigns: CampaignTable

  /// Does what is to be done about an error: takes out the slice or the campaign that is damaged, if that is what it says.
  ///
  /// A list is set aside; what all share nobody here can mend.
  ///
  /// - Parameter slice: that was worked on: where its partition is damaged, it is what is taken out.
  func mend(_ error: any Error, of slice: SliceReference? = nil) async {
    guard let error = error as? StoreError, let damage = error.damage else { return }
    do {
      switch damage {
      case .slice(let slice): try await takeOut(slice, error)
      case .partition: if let slice { try await takeOut(slice, error) }
      case .campaign(let id):
        if try await sharedStore.repair.takeOut(campaign: id, reason: error.message, hint: error.hint) {
          log.tell(.takenOut("campaign \(id)", reason: error.message))
        }
      case .list(let key):
        await sharedStore.repair.setAside(damaged: key)
        wakeClaims()
      case .catalog, .shared: break
      }
    } catch {
      log.report("could not take out what is damaged", error)
    }
  }

  private func takeOut(_ slice: SliceReference, _ error: StoreError) async throws {
    let state = try await sharedStore.repair.takeOut(
      slice, reason: error.message, hint: error.hint, worker: environment.configuration.name)
    log.tell(.takenOut("slice \(slice)", reason: error.message))
    if let state {
      campaigns.drop(slice.campaign)
      log.tell(.ended(campaign: slice.campaign, state: state))
    }
  }
}
