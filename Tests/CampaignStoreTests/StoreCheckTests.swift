@testable import CampaignStore
import PushCore
import Testing

/// What a check of the store finds, and mends.
@Suite struct StoreCheckTests {
  @Test(arguments: Backend.wholeWay)
  func nothingIsFoundWhereAllIsWell(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    var findings: [StoreFinding] = []
    let tally = try await scene.store.check(pause: CheckScene.pause) { findings += $0 }
    #expect(findings.isEmpty, "\(findings)")
    // One device was pruned.
    #expect(tally.users == 39)
    // The index has not heard of it.
    #expect(tally.tokens == 40)
    #expect(tally.campaigns == 7)
    // Of the ended ones, and the one that somebody works on.
    #expect(tally.slices == 9)
    #expect(tally.keys == (try await scene.world.keyNames("{\(scene.keys.namespace)*").count))
  }

  @Test(arguments: Backend.allCases, StoreWound.all)
  func whatIsWrongIsFoundAndMended(on backend: Backend, wound: StoreWound) async throws {
    let scene = try await CheckScene(on: backend)
    try await wound.damage(scene)
    let first = try await scene.check()
    #expect(first.map(\.kind) == [wound.kind], "\(first)")
    #expect(first.first?.standing == (wound.isOpen ? .open : .mendable))
    // A look changes nothing.
    #expect(try await scene.check() == first)
    let second = try await scene.check(mending: true)
    #expect(second.map(\.kind) == [wound.kind], "\(second)")
    #expect(second.first?.standing == (wound.isOpen ? .open : .mended))
    #expect(try await scene.check(mending: true) == (wound.isOpen ? first : []))
    if !wound.isOpen { #expect(try await wound.isWhole(scene)) }
  }

  @Test func everyKindHasAWound() {
    #expect(Set(StoreWound.all.map(\.kind)) == Set(StoreFinding.Kind.allCases))
  }

  @Test(arguments: Backend.allCases)
  func manyThingsAreMendedAtOnce(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    let wounds = StoreWound.all.filter { !$0.isOpen && $0.kind != .leftRegistration }
    for wound in wounds { try await wound.damage(scene) }
    // Some cover others: who has attributes and no devices has a device of somebody else's by now.
    let found = try await scene.check(mending: true)
    #expect(Set(found.map(\.kind)).isSubset(of: Set(wounds.map(\.kind))))
    #expect(found.count > wounds.count / 2)
    #expect(try await scene.check() == [])
  }

  @Test(arguments: Backend.allCases)
  func sliceThatWasTakenOutIsNotFound(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    _ = try await scene.command("HSET", scene.keys.slice(scene.slice.partition, of: "run"), "doubt", -5)
    _ = try await scene.store.takeOut(scene.slice, reason: "damaged", hint: "look", worker: "w")
    #expect(try await scene.check() == [])
  }

  @Test(arguments: Backend.allCases)
  func campaignThatWasTakenOutIsNotFound(on backend: Backend) async throws {
    let scene = try await CheckScene(on: backend)
    #expect(try await scene.store.takeOut(campaign: "run", reason: "damaged", hint: "look"))
    #expect(try await scene.check() == [])
  }
}
