import CampaignStore

/// What Redis holds is checked like any other input. What can't be right is taken out, with the reason, to the dead list,
/// so that everything else goes on.
extension PushWorker {
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
        if try await control.repair.takeOut(campaign: id, reason: error.message, hint: error.hint) {
          log.tell(.takenOut("campaign \(id)", reason: error.message))
        }
      case .list(let key):
        await control.repair.setAside(damaged: key)
        wakeClaims()
      case .catalog, .shared: break
      }
    } catch {
      log.report("could not take out what is damaged", error)
    }
  }

  /// Does what a worker begins with, which may find one list after the other damaged: each is set aside by the call that
  /// finds it. Where another server has taken over meanwhile it is looked at, and asked again.
  func begin<Result>(_ first: () async throws -> Result) async throws -> Result {
    while true {
      do {
        return try await first()
      } catch let error as StoreError {
        guard case .list(let key)? = error.damage, try await control.repair.isGone(key) else { throw error }
        log.report("a list is damaged", error)
      } catch {
        // What was admitted refuses, or can't be reached: that is for whoever started us.
        guard await !isAdmitted() else { throw error }
        await checkServer()
        guard await isAdmitted() else { throw error }
      }
    }
  }

  private func isAdmitted() async -> Bool {
    guard await store.isAdmitted() else { return false }
    return await control.isAdmitted()
  }

  private func takeOut(_ slice: SliceReference, _ error: StoreError) async throws {
    let state = try await control.repair.takeOut(
      slice, reason: error.message, hint: error.hint, worker: configuration.name)
    log.tell(.takenOut("slice \(slice)", reason: error.message))
    if let state {
      campaigns.drop(slice.campaign)
      log.tell(.ended(campaign: slice.campaign, state: state))
    }
  }
}
