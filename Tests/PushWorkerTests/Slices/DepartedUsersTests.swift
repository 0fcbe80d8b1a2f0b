import CampaignStore
@testable import PushWorker
import TestKit
import Testing

/// Targets that a worker checks before it sends them.
struct DepartedUsersTests {
  private func fingerprint(_ user: String) -> UInt32 { UserFingerprint.of(user.utf8) }

  @Test func onlyUsersWhoMayHaveDepartedAreChecked() {
    var departed = DepartedUsers()
    expect(departed.isEmpty && departed.number == nil)
    departed.add(nil)
    expect(departed.isEmpty && departed.number == nil)
    departed.add(NewDepartures(number: 7, users: []))
    expect(departed.isEmpty && departed.number == 7 && departed.changes == 0)
    departed.add(NewDepartures(number: 8, users: [fingerprint("ada")]))
    departed.add(NewDepartures(number: 9, users: [fingerprint("bob")]))
    expect(!departed.isEmpty && departed.number == 9 && departed.changes == 2)
    expect(departed.mayInclude(Array("ada".utf8)) && departed.mayInclude(Array("bob".utf8)))
    expect(!departed.mayInclude(Array("eve".utf8)) && !departed.mayInclude([]))
  }

  /// More departures than the store remembers: the worker checks all users, but no raw token.
  @Test func allUsersAreCheckedIfTheStoreDoesNotKnow() {
    var departed = DepartedUsers()
    departed.add(NewDepartures(number: 2000, users: nil))
    expect(!departed.isEmpty && departed.number == 2000 && departed.changes == 1)
    departed.add(NewDepartures(number: 2001, users: [fingerprint("ada")]))
    expect(departed.changes, is: 1)
    expect(departed.mayInclude(Array("eve".utf8)) && !departed.mayInclude([]))
  }

  /// The worker's memory of departures is bounded.
  @Test func allUsersAreCheckedAfterTooManyDepartures() {
    var departed = DepartedUsers()
    for number in 0..<(DepartedUsers.most / 512) {
      departed.add(NewDepartures(number: number, users: (0..<512).map { UInt32(number * 512 + $0) }))
    }
    expect(!departed.mayInclude(Array("eve".utf8)))
    departed.add(NewDepartures(number: 20_000, users: [fingerprint("ada")]))
    expect(departed.mayInclude(Array("eve".utf8)))
  }

  /// Redis may have lost departures. Users who are known to have departed stay known.
  @Test func forgettingTheNumberKeepsTheUsers() {
    var departed = DepartedUsers()
    departed.add(NewDepartures(number: 3, users: [fingerprint("ada")]))
    departed.forgetNumber()
    expect(departed.number == nil && departed.mayInclude(Array("ada".utf8)))
  }
}
