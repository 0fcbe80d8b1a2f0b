import CommandSupport

/// The start of the program: runs the command that the arguments name.
@main
struct EntryPoint {
  static func main() async { await CommandRunner.main(Carillon.self) }
}
