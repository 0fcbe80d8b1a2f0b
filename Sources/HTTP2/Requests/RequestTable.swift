/// The state of the requests of a ``RequestSession``. Each request that may be open at the same time has a slot, which
/// is created once and reused.
///
/// This is a class whose lists are unmanaged memory. Changes therefore need no checks of exclusive access, which a
/// struct in a property of another class needs. These checks took 5 % of the CPU time for a push.
final class RequestTable {
  struct Slot {
    var tag: UInt64 = 0
    var mark = 0
    var startedAt: UInt64 = 0
    /// The part of the body that is not sent yet.
    var body: UnsafeRawPointer?
    var bodyLeft = 0
    /// A copy of this part, if the peer's window was too small.
    var kept: UnsafeMutableRawBufferPointer?
    /// The session's total output in bytes at the end of the request's last frame; `max` before that frame is written.
    var end = UInt64.max
    /// The flow-control window for the request's body, in bytes.
    var sendWindow = 0
    /// Number of received bytes of the answer's DATA for which this end has not given the peer new credit
    /// (WINDOW_UPDATE) yet.
    var received = 0
    /// Bytes of the answer's body so far. `announcedBody` is the value of `content-length`, or -1 without this field.
    var answerBody = 0
    var announcedBody = -1
    var id: UInt32 = 0
    var status: UInt16 = 0
    var retryAfter: UInt16 = 0
    var retryAt: UInt32 = 0
    var error: UInt32 = 0
    var answerCount = 0
    /// Memory for a body of more than ``RequestTable/shortAnswer`` bytes.
    var longAnswer: UnsafeMutableRawPointer?
    var isOpen = false
    var wasSent = false
    /// Whether a header block of the answer has arrived. If so, the peer has seen the request, whatever the peer
    /// reports later.
    var hasResponse = false
  }

  /// Number of bytes that every slot has for the body of its answer. Almost all answers are shorter. The first longer
  /// one of a slot gets memory for ``RequestSession/keptBody`` bytes.
  private static let shortAnswer = 512

  let capacity: Int
  let slots: UnsafeMutablePointer<Slot>
  private(set) var openCount = 0
  /// Memory for short bodies of answers. It is used only for answers with a body.
  private let answers: UnsafeMutableRawPointer
  /// The slots by stream identifier; -1 for no slot. The low bits of an identifier are its position in this list. The
  /// list has at least twice as many positions as there are slots, so that one of the next identifiers has a free
  /// position.
  private let places: UnsafeMutablePointer<Int32>
  private let placeMask: UInt32
  /// A stack of the free slots.
  private let free: UnsafeMutablePointer<Int32>
  private var freeCount: Int
  /// A ring buffer of the slots whose requests have ended, in order. `nextRead` is the next position to read, `nextPut`
  /// the next position to write.
  private let ended: UnsafeMutablePointer<Int32>
  private var nextRead = 0
  private var nextPut = 0
  private(set) var endedCount = 0

  init(capacity: Int) {
    self.capacity = capacity
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Slot(), count: capacity)
    answers = .allocate(byteCount: capacity * Self.shortAnswer, alignment: 16)
    free = .allocate(capacity: capacity)
    ended = .allocate(capacity: capacity)
    var placeCount = 2
    while placeCount < 2 * capacity { placeCount *= 2 }
    places = .allocate(capacity: placeCount)
    places.initialize(repeating: -1, count: placeCount)
    placeMask = UInt32(placeCount - 1)
    for slot in 0..<capacity { free[slot] = Int32(capacity - 1 - slot) }
    freeCount = capacity
  }

  deinit {
    for slot in 0..<capacity {
      slots[slot].kept?.deallocate()
      slots[slot].longAnswer?.deallocate()
    }
    slots.deallocate()
    answers.deallocate()
    places.deallocate()
    free.deallocate()
    ended.deallocate()
  }

  var hasFree: Bool { freeCount > 0 }

  /// Returns whether the position of this stream identifier is free, so that the stream can get a slot.
  func hasPlace(for id: UInt32) -> Bool { places[place(of: id)] < 0 }

  /// Returns the slot of an open stream; -1 for none. Only the client's streams have a slot, so the lowest bit of an
  /// identifier is always 1.
  func slot(of id: UInt32) -> Int {
    let slot = Int(places[place(of: id)])
    return slot >= 0 && slots[slot].id == id ? slot : -1
  }

  private func place(of id: UInt32) -> Int { Int(id >> 1 & placeMask) }

  /// Takes a free slot for a stream whose position is free.
  func take(
    _ id: UInt32, tag: UInt64, mark: Int, now: UInt64, body: UnsafeRawBufferPointer, sendWindow: Int
  ) -> Int {
    precondition(freeCount > 0)
    freeCount -= 1
    let slot = Int(free[freeCount])
    slots[slot].longAnswer?.deallocate()
    slots[slot] = Slot(
      tag: tag, mark: mark, startedAt: now, body: body.baseAddress, bodyLeft: body.count, sendWindow: sendWindow,
      id: id,
      isOpen: true)
    places[place(of: id)] = Int32(slot)
    openCount += 1
    return slot
  }

  /// Copies the unsent part of a body, because the caller may reuse its memory after the call.
  func keepBody(of slot: Int) {
    guard slots[slot].isOpen, let body = slots[slot].body else { return }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: slots[slot].bodyLeft, alignment: 1)
    copy.copyMemory(from: UnsafeRawBufferPointer(start: body, count: slots[slot].bodyLeft))
    slots[slot].kept = copy
    slots[slot].body = UnsafeRawPointer(copy.baseAddress)
  }

  func takeBody(of slot: Int, count: Int) -> UnsafeRawBufferPointer {
    let bytes = UnsafeRawBufferPointer(start: slots[slot].body, count: count)
    slots[slot].body = slots[slot].body.map { $0 + count }
    slots[slot].bodyLeft -= count
    return bytes
  }

  func keepAnswer(_ bytes: UnsafeRawBufferPointer, of slot: Int) {
    let start = slots[slot].answerCount
    let count = min(bytes.count, RequestSession.keptBody - start)
    guard count > 0, let source = bytes.baseAddress else { return }
    if start + count > Self.shortAnswer, slots[slot].longAnswer == nil {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: RequestSession.keptBody, alignment: 16)
      memory.copyMemory(from: answer(of: slot), byteCount: start)
      slots[slot].longAnswer = memory
    }
    (answer(of: slot) + start).copyMemory(from: source, byteCount: count)
    slots[slot].answerCount += count
  }

  private func answer(of slot: Int) -> UnsafeMutableRawPointer {
    slots[slot].longAnswer ?? answers + slot * Self.shortAnswer
  }

  func end(_ slot: Int, error: UInt32) {
    guard slots[slot].isOpen else { return }
    // A peer that has begun to answer contradicts itself if it reports that it did not process the request.
    let isContradiction = error == HTTP2ErrorCode.refusedStream.rawValue && slots[slot].hasResponse
    slots[slot].error = isContradiction ? HTTP2ErrorCode.protocolError.rawValue : error
    slots[slot].wasSent = slots[slot].end != .max || slots[slot].hasResponse
    close(slot)
  }

  func abandon(written: UInt64) {
    for slot in 0..<capacity where slots[slot].isOpen {
      slots[slot].error = HTTP2ErrorCode.cancel.rawValue
      slots[slot].wasSent = slots[slot].end <= written || slots[slot].hasResponse
      close(slot)
    }
  }

  private func close(_ slot: Int) {
    slots[slot].isOpen = false
    places[place(of: slots[slot].id)] = -1
    openCount -= 1
    // The ring never overflows, because each slot is in it once and becomes free only after it was read.
    ended[nextPut] = Int32(slot)
    nextPut = nextPut + 1 == capacity ? 0 : nextPut + 1
    endedCount += 1
  }

  private func release(_ slot: Int) {
    free[freeCount] = Int32(slot)
    freeCount += 1
  }

  func nextEnded() -> RequestSession.Ended? {
    guard endedCount > 0 else { return nil }
    let slot = Int(ended[nextRead])
    nextRead = nextRead + 1 == capacity ? 0 : nextRead + 1
    endedCount -= 1
    release(slot)
    if let kept = slots[slot].kept {
      kept.deallocate()
      slots[slot].kept = nil
    }
    let end = slots[slot]
    let error = HTTP2ErrorCode(rawValue: end.error)
    return RequestSession.Ended(
      tag: end.tag, mark: end.mark, startedAt: end.startedAt, status: error == .noError ? end.status : 0,
      retryAfter: end.retryAfter, retryAt: end.retryAt, error: error, wasSent: end.wasSent,
      body: UnsafeRawBufferPointer(start: answer(of: slot), count: end.answerCount))
  }

  /// Returns an open request that was opened before `time`.
  func firstOpen(before time: UInt64) -> Int? {
    (0..<capacity).first { slots[$0].isOpen && slots[$0].startedAt < time }
  }
}
