import TestKit
import Testing

@testable import Redis

/// Slots of a cluster that were left open, as each server reports its own.
struct OpenSlotsTests {
  @Test func onlySlotsThatTheServerItselfMovesCount() {
    let text = """
      aa 127.0.0.1:1@2 master - 0 1 2 connected 0-5 [7->-bb]
      bb 127.0.0.1:3@4 myself,master - 0 1 3 connected 6-10 12 [93-<-aa] [77->-aa]
      cc 127.0.0.1:5@6 slave bb 0 1 3 connected
      """
    expect(OpenSlots.read(text), is: [93, 77])
    expect(OpenSlots.read("") == [] && OpenSlots.read("aa 1 myself,master - 0 0 1 connected") == [])
  }
}
