/// Batches of a collection, to limit the number of elements in one command or round trip.
extension RandomAccessCollection where Index == Int {
  /// Returns the elements of the collection in batches, in order.
  ///
  /// - Parameter size: the maximum number of elements of a batch.
  func batches(of size: Int = CampaignStore.batch) -> [SubSequence] {
    stride(from: startIndex, to: endIndex, by: size).map { self[$0..<Swift.min($0 + size, endIndex)] }
  }
}
