import TestSupport

@testable import APNs
@testable import PushTransport

/// A simulated connection to a server in virtual time, which shows the behaviour of a window. All random numbers come
/// from a seed.
///
/// The server has a round-trip time, a stream limit, a rate, stalls and errors, all of which may change over time. The
/// client works in turns like the engine: it reads the available answers, records them, and then sends as much as the
/// window allows. Each step costs it time. Times are nanoseconds.
struct ConnectionModel {
  /// The round-trip time for pushes that are sent at a given time.
  var way: (UInt64) -> UInt64
  /// MAX_CONCURRENT_STREAMS at a given time; `nil` is APNs' thousand. The client receives a change half a round trip
  /// later. The server refuses excess pushes until then.
  var streams: ((UInt64) -> Int)?
  /// The answers that the server gives in a second, one after the other; 0 is any number.
  var answersPerSecond: (UInt64) -> Double = { _ in 0 }
  /// The maximum of a random addition to the round-trip time, evenly distributed. Answers can overtake each other.
  var spread: UInt64 = 0
  /// The share of pushes with a stalled answer, and the length of the stall.
  var stallShare = 0.0
  var stall: UInt64 = 0
  /// Times at which no answer leaves the server.
  var silence: (UInt64) -> Range<UInt64>? = { _ in nil }
  /// The answer at a given time, by a number from 0 to 1.
  var signal: (UInt64, Double) -> CongestionWindow.Signal = { _, _ in .accepted }
  /// The cost of one push for the client, half of it to send and half to read.
  var clientCost: UInt64 = 30_000
  /// Number of pushes that wait for the connection at a given time; `nil` is any number.
  var supply: ((UInt64) -> Int)?

  /// Result of a run.
  struct Result {
    /// Pushes accepted after the warm-up.
    var accepted = 0
    /// All answers from the beginning.
    var answers = 0
    var seconds = 0.0
    /// The sum of the times from submission to answer, after the warm-up.
    fileprivate var latencies: UInt64 = 0
    fileprivate var measured = 0
    /// The narrowest and the widest window after the warm-up.
    var limits: ClosedRange<Int>?
    /// The largest number of submitted pushes that had to wait in the connection.
    var maximumWaiting = 0
    /// The longest time without an answer in nanoseconds, after the warm-up.
    var longestGap: UInt64 = 0

    var rate: Double { Double(accepted) / seconds }
    /// In nanoseconds.
    var meanLatency: Double { Double(latencies) / Double(max(measured, 1)) }
  }

  private struct Answer {
    var at: UInt64
    var sentAt: UInt64
    var signal: CongestionWindow.Signal
  }

  /// The number of answers in one read.
  private static let answersPerTurn = 16
  static let millisecond: UInt64 = 1_000_000
  static let second: UInt64 = 1_000_000_000

  /// Sends through a window.
  ///
  /// - Parameters:
  ///   - warmUp: seconds before the measurement begins.
  ///   - seconds: the length of the measurement.
  ///   - watch: called after every turn with the time and the window.
  func run(
    _ window: inout CongestionWindow, warmUp: Double = 0, seconds: Double, seed: UInt64,
    watch: (UInt64, CongestionWindow) -> Void = { _, _ in }
  ) -> Result {
    var chance = Seed(value: seed)
    var result = Result(seconds: seconds)
    var answers = Heap<Answer> { $0.at < $1.at }
    /// The submission times of pushes that have not been started.
    var waiting: [UInt64] = []
    var waitingHead = 0
    var clock: UInt64 = 0
    var serverFree: UInt64 = 0
    var lastAnswer: UInt64 = 0
    let begin = UInt64(warmUp * 1e9)
    let end = begin + UInt64(seconds * 1e9)
    // The interval at which values that change without an answer are read.
    let tick = streams == nil && supply == nil ? UInt64.max : 5 * Self.millisecond
    while clock < end {
      // Reads the answers that have arrived.
      var batch: [Answer] = []
      while batch.count < Self.answersPerTurn, let next = answers.first, next.at <= clock {
        batch.append(answers.removeFirst())
      }
      clock += UInt64(batch.count) * clientCost / 2
      for (index, answer) in batch.enumerated() {
        let queued = waiting.count - waitingHead
        window.record(
          answer.signal, sentAt: answer.sentAt, now: clock, inFlight: answers.count + queued + batch.count - index,
          waiting: queued)
        result.answers += 1
        if clock > begin {
          if answer.signal == .accepted { result.accepted += 1 }
          result.latencies += clock - answer.sentAt
          result.measured += 1
        }
      }
      if !batch.isEmpty {
        if lastAnswer > begin { result.longestGap = max(result.longestGap, clock - lastAnswer) }
        lastAnswer = clock
      }
      // Sends as many pushes as there is room for.
      var left = supply?(clock) ?? .max
      var hasMore = true
      while hasMore {
        hasMore = false
        let queued = waiting.count - waitingHead
        let room = min(window.room(inFlight: answers.count + queued, waiting: queued), left)
        if room > 0 {
          waiting.append(contentsOf: repeatElement(clock, count: room))
          left -= room
        }
        while waitingHead < waiting.count, answers.count < streams?(clock - min(clock, way(clock) / 2)) ?? 1000 {
          waitingHead += 1
          clock += clientCost / 2
          hasMore = true
          var answer = serve(at: clock, &serverFree, &chance)
          if let streams, answers.count >= streams(clock + way(clock) / 2) {
            answer = Answer(at: clock + way(clock), sentAt: clock, signal: .failed)
          }
          answers.insert(answer)
        }
        if waitingHead == waiting.count {
          waiting.removeAll(keepingCapacity: true)
          waitingHead = 0
        }
      }
      result.maximumWaiting = max(result.maximumWaiting, waiting.count - waitingHead)
      if clock > begin {
        let limits = result.limits ?? window.limit...window.limit
        result.limits = min(limits.lowerBound, window.limit)...max(limits.upperBound, window.limit)
      }
      watch(clock, window)
      let nextTick = tick == .max ? end : clock + tick
      clock = max(clock, min(answers.first?.at ?? nextTick, nextTick))
    }
    return result
  }

  private func serve(at sentAt: UInt64, _ serverFree: inout UInt64, _ chance: inout Seed) -> Answer {
    let way = way(sentAt)
    var at = sentAt + way / 2
    let rate = answersPerSecond(at)
    if rate > 0 {
      at = max(at, serverFree) + UInt64(1e9 / rate)
      serverFree = at
    }
    if let silence = silence(at) { at = max(at, silence.upperBound) }
    if spread > 0 { at += UInt64.random(in: 0..<spread, using: &chance) }
    if stallShare > 0, Double.random(in: 0..<1, using: &chance) < stallShare { at += stall }
    return Answer(
      at: at + way / 2, sentAt: sentAt, signal: signal(at, Double.random(in: 0..<1, using: &chance)))
  }
}

/// A binary heap whose least element comes first.
private struct Heap<Element> {
  private var elements: [Element] = []
  private let isLess: (Element, Element) -> Bool

  init(_ isLess: @escaping (Element, Element) -> Bool) { self.isLess = isLess }

  var count: Int { elements.count }
  var first: Element? { elements.first }

  mutating func insert(_ element: Element) {
    elements.append(element)
    var index = elements.count - 1
    while index > 0, isLess(element, elements[(index - 1) / 2]) {
      elements[index] = elements[(index - 1) / 2]
      index = (index - 1) / 2
    }
    elements[index] = element
  }

  mutating func removeFirst() -> Element {
    let first = elements[0]
    let last = elements.removeLast()
    guard !elements.isEmpty else { return first }
    var index = 0
    while 2 * index + 1 < elements.count {
      var child = 2 * index + 1
      if child + 1 < elements.count, isLess(elements[child + 1], elements[child]) { child += 1 }
      guard isLess(elements[child], last) else { break }
      elements[index] = elements[child]
      index = child
    }
    elements[index] = last
    return first
  }
}
