import Admin
@testable import CampaignStore
import PushCore
import Testing

struct WantedWorkersTests {
  @Test func nothingWantsNobodyAndWhatIsAboutToBeginWantsOne() {
    var fleet = Fleet()
    #expect(WantedWorkers(fleet).workers == 0)
    fleet.intake.count = 3
    #expect(WantedWorkers(fleet).workers == 1)
    fleet.intake.count = 0
    fleet.at = 1_000_000
    fleet.scheduled = Fleet.Agenda(count: 1, next: fleet.at + 30_000)
    #expect(WantedWorkers(fleet, seconds: 60).workers == 1)
    #expect(WantedWorkers(fleet, seconds: 10).workers == 0)
  }
}
