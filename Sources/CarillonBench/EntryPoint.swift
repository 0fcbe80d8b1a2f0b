import CommandSupport

@main
struct EntryPoint {
  static func main() async { await CommandRunner.main(BenchCommand.self) }
}
