import CampaignStore
import EventLoop
import PushCore
import Redis
import ServiceTools
import TLS

/// The failure of a command: the problem and its place, the next step, and the exit status for scripts.
package struct CommandError: Error, Equatable {
  /// The kinds of failure. The raw values are the values of `code` with `--json`.
  package enum Code: String {
    /// The arguments are invalid.
    case usage
    /// A file, a job or an expression is wrong.
    case input
    /// The configuration is wrong.
    case configuration
    /// Another job already uses the id.
    case conflict
    /// The requested object does not exist.
    case notFound
    /// The requested action failed.
    case failed
    /// Redis or a push service is unreachable or unusable.
    case unreachable
    /// A bug in Carillon.
    case defect

    /// The exit status of the process, from sysexits(3).
    package var exitStatus: Int32 {
      switch self {
      case .notFound, .failed: 1
      case .usage: 64
      case .input, .configuration, .conflict: 65
      case .unreachable: 69
      case .defect: 70
      }
    }
  }

  package var code: Code
  /// The problem and its place.
  package var message: String
  /// The next step for the operator.
  package var hint: String?

  package init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// Converts an error of another module into a command error.
  package init(_ error: any Error) {
    switch error {
    case let error as CommandError: self = error
    case let error as ConfigurationError: self.init(.configuration, error.description, hint: error.hint)
    case let error as ServiceError:
      self.init(error.code == .usage ? .usage : .configuration, error.message, hint: error.hint)
    case let error as FileError: self.init(.input, "\(error.path): \(error.reason)")
    case let error as JobError:
      self.init(.input, (error.field.isEmpty ? "" : error.field + ": ") + error.message, hint: error.hint)
    case let error as AudienceExpressionError:
      self.init(
        .input, "the expression, column \(error.column): \(error.message)",
        hint: "an expression looks like: vip & (sports | news) & !churned")
    case let error as DeviceRowReader.FileError: self.init(.input, error.description, hint: error.hint)
    case let error as DeviceRowDraft.Problem: self.init(.input, error.description)
    case let error as RedisError: self.init(error)
    case let error as StoreError: self.init(error)
    case let error as RedisServerError: self.init(StoreError(error))
    // The description already contains the operation and its address or file.
    case let error as SocketError:
      self.init(
        .failed, error.description,
        hint: error.isOfTakenAddress ? "another program uses it: choose another port, or 0 for a free one" : nil)
    case let error as TLSError: self.init(.failed, error.description)
    default:
      self.init(.defect, "unexpected: \(error)", hint: "this is a bug in Carillon: please report it")
    }
  }

  private init(_ error: RedisError) {
    let place = error.endpoint.isEmpty ? "Redis" : "Redis at \(error.endpoint)"
    let doubt = error.mayHaveExecuted ? "; Redis may have executed the last command" : ""
    let (code, key): (Code, String) =
      switch error.code {
      case .invalidURL: (.configuration, "The URL is redis.url, or CARILLON_REDIS_URL.")
      case .authentication:
        (
          .configuration,
          "User and password are in redis.url (CARILLON_REDIS_URL), or in redis.user and redis.passwordFile."
        )
      case .noPermission: (.configuration, "deploy/operations/redis.md lists the permissions of each role.")
      case .untrusted, .unusableFile: (.configuration, "The keys are redis.passwordFile and redis.tls.")
      default: (.unreachable, "The URL is redis.url, or CARILLON_REDIS_URL.")
      }
    self.init(
      code, "\(place): \(error.message)\(doubt)", hint: (error.hint.isEmpty ? "" : error.hint + " ") + key)
  }

  private init(_ error: StoreError) {
    let code: Code =
      switch error.code {
      case .mismatch, .forbidden: .configuration
      case .unfit, .readOnly, .full, .locked, .refused: .unreachable
      case .notFound: .notFound
      case .unapproved, .decided: .failed
      case .conflict: .conflict
      case .invalid, .damaged: .input
      }
    self.init(code, error.message, hint: error.hint)
  }

  /// Returns the error for an id that another job uses.
  package static func conflict(_ id: String) -> CommandError {
    CommandError(
      .conflict, "id: \(Excerpt.quoted(id)) is already used by another job",
      hint: "choose another id; Carillon remembers an id for 90 days")
  }

  /// Returns the error as text for standard error.
  package func report(json isJSON: Bool) -> String {
    guard isJSON else {
      return "error: \(Excerpt.harmless(message))\n" + (hint.map { "  hint: \(Excerpt.harmless($0))\n" } ?? "")
    }
    var json = JSONWriter()
    json.beginObject()
    json.object("error") { json in
      json.member("code", code.rawValue)
      json.member("message", message)
      json.member("hint", hint)
    }
    json.endObject()
    json.endLine()
    return json.text
  }
}
