/// Which stage of a campaign a user is in. It follows from the campaign's id and the user alone, so a user is in exactly one
/// stage, whoever asks and whenever.
///
/// A user whom a stage lists is in the first stage that lists the user. Everybody else draws a number: each share takes a
/// stretch of the numbers, and who is in no stretch is in the rest.
public struct StageDraw: Sendable, Equatable {
  /// Users who are listed, with the places of their stages, by the length of their names: most users are told from all of
  /// them by that.
  private let listed: [Int: [(name: [UInt8], place: Int)]]
  /// Where the stretch of each stage ends; the stretch of a stage that lists its users is empty.
  private let ends: [Double]
  private let draw: UserDraw

  /// - Parameters:
  ///   - members: of the stages, in their order.
  ///   - id: the campaign's.
  init(_ members: [CampaignStages.Members], campaign id: String) {
    var listed: [Int: [(name: [UInt8], place: Int)]] = [:]
    var (ends, end): ([Double], Double) = ([], 0)
    for (place, members) in members.enumerated() {
      switch members {
      case .users(let users):
        for name in users.map({ Array($0.utf8) }) where listed[name.count]?.contains(where: { $0.name == name }) != true
        {
          listed[name.count, default: []].append((name, place))
        }
      case .share(let share): end += share
      }
      ends.append(end)
    }
    self.listed = listed
    self.ends = ends
    draw = UserDraw(salt: "stage of campaign " + id)
  }

  /// The place of the stage that lists a user; `nil` where none does.
  public func listing(_ user: UnsafeRawBufferPointer) -> Int? {
    listed[user.count]?.first { user.elementsEqual($0.name) }?.place
  }

  /// The place of the stage that a user is in; of the rest it is the number of stages.
  public func place(of user: UnsafeRawBufferPointer) -> Int {
    if let place = listing(user) { return place }
    let number = draw.share(user)
    return ends.firstIndex { number < $0 } ?? ends.count
  }

  public static func == (left: StageDraw, right: StageDraw) -> Bool {
    left.ends == right.ends && left.draw == right.draw
      && left.listed.mapValues { $0.map(\.name) }
        == right.listed.mapValues { $0.map(\.name) }
      && left.listed.mapValues { $0.map(\.place) }
        == right.listed.mapValues { $0.map(\.place) }
  }
}
