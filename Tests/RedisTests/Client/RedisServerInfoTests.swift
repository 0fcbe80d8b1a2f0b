import Redis
import TestKit
import Testing

@Suite struct RedisServerInfoTests {
  private static let text = """
    # Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:abc\r\nexecutable:/a:b\r\n\r\n# Persistence\r
    loading:1\r\naof_enabled:1\r\naof_last_write_status:err\r\nrdb_last_bgsave_status:ok\r\nrdb_last_save_time:17\r
    # Memory\r\nused_memory:1000\r\nmaxmemory:2000\r\nmaxmemory_policy:allkeys-lru\r\n# Replication\r
    role:slave\r\nconnected_slaves:2\r\n
    """

  @Test func factsAreRead() {
    let info = RedisServerInfo(parsing: Self.text)
    expect(info.version, is: RedisVersion(major: 7, minor: 0, patch: 15))
    expect(info.role == .replica && info.runID == "abc" && info.isLoading && !info.isCluster)
    expect(info.evictionPolicy == "allkeys-lru" && info.maximumMemory == 2000 && info.usedMemory == 1000)
    expect(info.isAppendOnlyEnabled && !info.isPersistenceHealthy)
    expect(info.connectedReplicas == 2 && info.fields["executable"] == "/a:b")
  }

  @Test func emptyInfoKnowsNothing() {
    let info = RedisServerInfo(parsing: "")
    expect(info.version == nil && info.role == nil && !info.isLoading && info.isPersistenceHealthy)
  }

  @Test func versionsAreOrdered() {
    expect(RedisVersion("6.2.14").map { $0 < RedisVersion(major: 7) }, is: true)
    expect(RedisVersion("7.0.15").map { $0 >= RedisVersion(major: 7) }, is: true)
    expect(RedisVersion("10.1")?.description, is: "10.1.0")
    expect(RedisVersion("unstable"), is: nil)
  }
}
