/// Values of the legs of a campaign, in the order of the legs; at least one.
///
/// The list stores the first value inline, because nearly all campaigns have one leg. The expansion reads and changes a
/// leg's value for each device. With an array, each read would count references, and each change would check for unique
/// ownership.
struct LegList<Value>: RandomAccessCollection {
  /// Value of the first leg.
  var firstLeg: Value
  private var otherLegs: [Value] = []

  init(_ firstLeg: Value) { self.firstLeg = firstLeg }

  var startIndex: Int { 0 }
  var endIndex: Int { 1 + otherLegs.count }

  subscript(place: Int) -> Value { place == 0 ? firstLeg : otherLegs[place - 1] }

  mutating func append(contentsOf values: some Sequence<Value>) { otherLegs += values }

  /// Changes the value of a leg in place. A subscript that changes a value in place would be a coroutine, which
  /// allocates memory.
  @inline(__always) mutating func change<Result>(_ place: Int, _ body: (inout Value) -> Result) -> Result {
    place == 0 ? body(&firstLeg) : body(&otherLegs[place - 1])
  }

  /// Changes the value of each leg in place.
  mutating func changeEach(_ body: (inout Value) -> Void) {
    for place in indices { change(place, body) }
  }

  /// Returns a list with a value for each leg.
  func mapLegs<Other>(_ value: (Value) throws -> Other) rethrows -> LegList<Other> {
    var list = LegList<Other>(try value(firstLeg))
    list.otherLegs = try otherLegs.map(value)
    return list
  }
}

extension LegList: Sendable where Value: Sendable {}
