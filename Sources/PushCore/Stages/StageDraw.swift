/// Assignment of users to the stages of a campaign. The stage of a user depends only on the campaign's id and the user,
/// so it is the same at any time and on any worker.
///
/// A user in the lists of several stages is in the first of these stages. Each user in no list gets a random number.
/// Each stage with a share has a range of these numbers. A user outside all ranges gets the campaign after all stages.
public struct StageDraw: Sendable, Equatable {
  /// Users in the lists of stages, each with the position of the stage. The key is the length of the user's id: for
  /// most users, the length is sufficient to show that they are not listed.
  private let listed: [Int: [(name: [UInt8], place: Int)]]
  /// End of each stage's range of numbers. The range of a stage that lists its users is empty.
  private let ends: [Double]
  private let draw: UserDraw

  /// - Parameters:
  ///   - members: the users of each stage, in the order of the stages.
  ///   - id: the id of the campaign.
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

  /// Returns the position of the stage that lists a user; `nil` for none.
  public func listing(_ user: UnsafeRawBufferPointer) -> Int? {
    listed[user.count]?.first { user.elementsEqual($0.name) }?.place
  }

  /// Returns the position of a user's stage; for a user after all stages, the number of stages.
  public func index(of user: UnsafeRawBufferPointer) -> Int {
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
