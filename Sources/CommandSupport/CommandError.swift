import CampaignStore
import EventLoop
import PushCore
import Redis
import ServiceTools
import TLS

/// Why a command failed: what is wrong and where, what to do next, and the exit status that scripts go by.
package struct CommandError: Error, Equatable {
  /// The kinds of failure; the raw values are the `code` of `--json`.
  package enum Code: String {
    /// The arguments make no sense.
    case usage
    /// A file, a job or an expression is wrong.
    case input
    /// The configuration is wrong.
    case configuration
    /// The id was used for something else.
    case conflict
    /// What was asked for is not there.
    case notFound
    /// What was asked for was tried and failed.
    case failed
    /// Redis or APNs can't be reached, or can't be worked with.
    case unreachable
    /// A bug of ours.
    case defect

    /// sysexits(3), as the contract has them.
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
  /// What is wrong, and where.
  package var message: String
  /// What to do next.
  package var hint: String?

  package init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// The command error that any error of the modules below is.
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
    // Which address or file it concerns is in the operation.
    case let error as SocketError:
      self.init(
        .failed, error.description,
        hint: error.isOfTakenAddress ? "another program has it: name another port, or 0 for a free one" : nil)
    case let error as TLSError: self.init(.failed, error.description)
    default:
      self.init(.defect, "unexpected: \(error)", hint: "this is a bug in Carillon: please report it")
    }
  }

  private init(_ error: RedisError) {
    let place = error.endpoint.isEmpty ? "Redis" : "Redis at \(error.endpoint)"
    let doubt = error.mayHaveExecuted ? "; what was under way may have been done" : ""
    let (code, key): (Code, String) =
      switch error.code {
      case .invalidURL: (.configuration, "The URL is redis.url, or CARILLON_REDIS_URL.")
      case .authentication:
        (.configuration, "They are in redis.url (CARILLON_REDIS_URL), or in redis.user and redis.passwordFile.")
      case .noPermission: (.configuration, "deploy/operations/redis.md has what each role needs.")
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
      case .unfit, .readOnly, .full, .held, .refused: .unreachable
      case .notFound: .notFound
      case .unapproved, .decided: .failed
      case .conflict: .conflict
      case .invalid, .damaged: .input
      }
    self.init(code, error.message, hint: error.hint)
  }

  /// The error for an id that another job has.
  package static func conflict(_ id: String) -> CommandError {
    CommandError(
      .conflict, "id: \(Excerpt.quoted(id)) was used for another job",
      hint: "give the job an id of its own; an id is remembered for 90 days")
  }

  /// What goes to standard error.
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
