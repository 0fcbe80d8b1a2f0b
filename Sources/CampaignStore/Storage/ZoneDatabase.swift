import Foundation
public import PushCore
import Synchronization

/// The time zones of the system, each read when it is first asked for.
///
/// Foundation has a list of its own, of the day on which its toolchain was made; when clocks change is decided by
/// governments, weeks ahead at times, so what the distribution updates (package tzdata) is what counts.
public final class ZoneDatabase: Sendable {
  /// Where its files are.
  public let folder: String
  /// `nil` for those that are not there.
  private let known = Mutex<[String: ZoneRules?]>([:])

  /// Where distributions put it.
  public static let systemFolder = "/usr/share/zoneinfo"
  /// What the system has.
  public static let system = ZoneDatabase(folder: systemFolder)
  /// Names that are remembered: others' data may name any number that there are not.
  private static let mostKnown = 4096

  /// - Parameter folder: of TZif files (RFC 8536), by their names.
  public init(folder: String) {
    self.folder = folder
  }

  /// Whether it is there.
  public var isThere: Bool { read(CampaignTiming.utc) != nil }

  /// What clocks show in a zone; `nil` where there is no such zone, and for an abbreviation.
  ///
  /// - Parameter name: as ``ZoneName`` writes it, or as an older store has it.
  public func rules(_ name: String) -> ZoneRules? {
    if let known = known.withLock({ $0[name] }) { return known }
    // A fixed offset needs no database.
    let rules = ZoneOffset.seconds(name.utf8).map(ZoneRules.fixed) ?? (ZoneName.isAbbreviation(name) ? nil : read(name))
    known.withLock { known in
      if known.count >= Self.mostKnown { known = [:] }
      known[name] = .some(rules)
    }
    return rules
  }

  /// Reads outside the lock: at worst twice.
  private func read(_ name: String) -> ZoneRules? {
    guard Self.isName(name), let data = FileManager.default.contents(atPath: folder + "/" + name) else { return nil }
    return ZoneRules(tzif: Array(data))
  }

  /// Names come from devices: none leads out of the folder.
  static func isName(_ name: String) -> Bool {
    (1...255).contains(name.utf8.count) && name.first != "/"
      && name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
        part.first.map { $0 != "." && $0 != "-" } ?? false
      }
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "-"),
          UInt8(ascii: "+"):
          true
        default: false
        }
      }
  }
}
