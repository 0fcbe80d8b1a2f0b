import Foundation
public import PushCore
import Synchronization

/// The time zones of the system. Each zone is read when it is first needed.
///
/// Foundation has its own copy of the time zones, which is as old as the Swift toolchain. Governments sometimes change
/// time zones only a few weeks in advance. So this type reads the database of the Linux distribution (package tzdata),
/// which gets updates.
public final class ZoneDatabase: Sendable {
  /// Folder of the database files.
  public let folder: String
  /// The rules by zone name; `nil` for names of zones that do not exist.
  private let known = Mutex<[String: ZoneRules?]>([:])

  /// Folder in which distributions install the database.
  public static let systemFolder = "/usr/share/zoneinfo"
  /// The database of the system.
  public static let system = ZoneDatabase(folder: systemFolder)
  /// Largest number of cached names. The data of devices may contain any number of unknown names.
  private static let maximumKnown = 4096

  /// Creates a database.
  /// - Parameter folder: folder of TZif files (RFC 8536), by zone name.
  public init(folder: String) {
    self.folder = folder
  }

  /// Whether the database exists.
  public var isThere: Bool { read(CampaignTiming.utc) != nil }

  /// Returns the clock rules of a zone; `nil` for an abbreviation and for a zone that does not exist.
  ///
  /// - Parameter name: a name as ``ZoneName`` writes it, or as an earlier version stored it.
  public func rules(_ name: String) -> ZoneRules? {
    if let known = known.withLock({ $0[name] }) { return known }
    // A fixed offset needs no database.
    let rules = ZoneOffset.seconds(name.utf8).map(ZoneRules.fixed) ?? (ZoneName.isAbbreviation(name) ? nil : read(name))
    known.withLock { known in
      if known.count >= Self.maximumKnown { known = [:] }
      known[name] = .some(rules)
    }
    return rules
  }

  /// Reads the file of a zone without holding the lock, so two callers may read it at the same time.
  private func read(_ name: String) -> ZoneRules? {
    guard Self.isName(name), let data = FileManager.default.contents(atPath: folder + "/" + name) else { return nil }
    return ZoneRules(tzif: Array(data))
  }

  /// Returns whether a name is safe as a path. Names come from devices, and none may lead out of the folder.
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
