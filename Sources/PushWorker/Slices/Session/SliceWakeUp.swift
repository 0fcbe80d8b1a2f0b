/// The signal that wakes the task of a slice: the slice's own signal, or the signal of its batch.
struct SliceWakeUp {
  var signal = LoopSignal()
  /// The number of the batch of slices; `nil` for none.
  var sliceBatch: Int?
}
