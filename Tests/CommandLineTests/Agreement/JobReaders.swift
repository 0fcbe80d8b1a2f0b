import CampaignStore
import EventLoop
import Foundation
import PushCore
import Redis
import TestKit
import TestSupport
import Testing

@testable import Admin
@testable import CommandSupport
@testable import HTTPServer
@testable import PushWorker
@testable import carillon

/// All readers of a job on one store: `lint`, `submit`, the API and the worker's intake.
struct JobReaders {
  /// An error, without the id of the job.
  struct Refusal: Hashable, CustomStringConvertible {
    /// The field and the problem.
    var message: String
    var hint: String

    var description: String { "\(message) (\(hint))" }
  }

  private let store: CampaignStore
  private let api: API
  private let intake: JobIntake
  private let folder: ScratchFolder
  private let list: String
  private let server: RedisServer

  init() async throws {
    let world = try await CarillonWorld()
    folder = try ScratchFolder("agreement")
    let simulator = folder.path("simulator")
    let made = try await CarillonCommand.run(["simulate", "--init", simulator])
    expect(made.exit, is: .status(0))
    var environment = world.environment
    environment["CARILLON_CONFIG"] = simulator + "/carillon.yaml"
    let configuration = try ConfigurationLoader(argument: nil, environment: environment).load()
    let connection = try StoreConnection(configuration.redis, apps: configuration.appServices)
    store = try await connection.open(creating: true)
    api = API(configuration, try APIStore(configuration.redis, on: .init(label: "agreement")), APIPools())
    var random = SystemRandomNumberGenerator()
    intake = JobIntake(
      store: store, instance: WorkerInstance(name: "w", using: &random), apps: configuration.jobApps(), channels: [:],
      checker: JobChecker(priority: .normal, limit: .seconds(60)), largeAudience: 1_000_000, mayTakeLong: true,
      hook: nil)
    (list, server) = ("{\(world.namespace)}:campaigns", world.server)
    try await fill()
  }

  /// Adds the objects that jobs name.
  private func fill() async throws {
    try await store.audiences.add(["ada", "bob"], to: "vip")
    try await store.audiences.add(["bob"], to: "churned")
    _ = try await store.audiences.define(
      "fans", SegmentDefinition(expression: AudienceExpression(parsing: "vip & !churned")))
    _ = try await store.campaigns.put(
      Array(#"{"message":{"body":"Welcome, {{name|you}}"}}"#.utf8), asTemplate: "welcome")
    let earlier = Self.simple("earlier")
    expect(try await takeIn(earlier), is: nil)
    _ = try await store.campaigns.control("earlier", .cancel)
  }

  private static func simple(_ id: String) -> String {
    #"{"id":"\#(id)","app":"news","audience":{"users":["ada"]},"message":{"body":"Hello"}}"#
  }

  // MARK: Readers

  /// Returns the errors of `lint`, by its operation of the API, which calls the same function as the command.
  func lint(_ job: String) async throws -> [Refusal] {
    let response: HTTPResponse
    do {
      response = try await call("lintCampaign", job)
    } catch {
      return [Refusal(error)]
    }
    let lint = try Self.object(response)
    expect(lint.text("unchecked"), is: nil, "\(job)")
    guard lint.text("kind") == "job" else {
      return [Refusal(message: "this is a \(lint.text("kind") ?? "file"), not a job", hint: "")]
    }
    return (lint.objects("findings") ?? []).filter { $0.text("severity") == "error" }.map {
      let (path, message) = ($0.text("path") ?? "", $0.text("message") ?? "")
      return Refusal(message: (path.isEmpty ? "" : path + ": ") + message, hint: $0.text("hint") ?? "")
    }
  }

  /// Submits a job in the same way as `carillon campaign submit`. The job is then in the queue.
  func submit(_ job: String) async throws -> Refusal? {
    let bytes = Array(job.utf8)
    do {
      var submission = try await JobSubmission(bytes, resolved: await store.campaigns.resolve(bytes), api.apps)
      try await submission.addWarnings(from: store)
      expect(try await submission.submit(to: store, by: nil), is: false)
      return nil
    } catch {
      return Refusal(error)
    }
  }

  /// Submits a job by the API, and removes it from the queue.
  func post(_ job: String) async throws -> Refusal? {
    do {
      let response = try await call("submitCampaign", job)
      // An earlier job may have the same id by the same mistake.
      expect(response.status == 201 || response.status == 200)
      if response.status == 201 { try await server.command("lpop", list) }
      return nil
    } catch {
      return Refusal(error)
    }
  }

  /// Pushes a job to the list of the producers. A worker then takes it in.
  func takeIn(_ job: String) async throws -> Refusal? {
    try await server.command("lpush", list, job)
    return try await takeInNext()
  }

  /// Lets a worker take in the next job of the queue.
  func takeInNext() async throws -> Refusal? {
    let entry = try #require(try await store.queue.awaitJob(worker: "w", seconds: 5, now: 1))
    guard case .deadLettered(let key, _, let reason) = try await intake.take(in: entry) else { return nil }
    return Refusal(message: reason, hint: try await store.queue.deadJob(key).hint)
  }

  private func call(_ name: String, _ job: String) async throws -> HTTPResponse {
    let operation = try #require(api.operations.first { $0.name == name })
    var request = HTTPRequest(method: operation.method, path: [])
    request.body = Array(job.utf8)
    return try await operation.run(RouteCall(request: request, parameters: [:], holder: nil))
  }

  private static func object(_ response: HTTPResponse) throws -> JSONObject {
    guard case .bytes(let bytes) = response.body else { throw CancellationError() }
    return try JSONObject(String(decoding: bytes, as: UTF8.self))
  }
}

extension JobReaders.Refusal {
  /// The error as commands and the API report it.
  init(_ error: any Error) {
    let error = CommandError(error)
    (message, hint) = (error.message, error.hint ?? "")
  }
}
