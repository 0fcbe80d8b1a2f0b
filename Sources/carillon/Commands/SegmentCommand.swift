import ArgumentParser

/// `carillon segment`.
struct SegmentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "segment",
    abstract: "Keeps the named sets of users that campaigns are sent to.",
    subcommands: [Import.self, List.self, Count.self, Export.self, Remove.self])

  struct Import: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds users to a segment, from a file of user ids, one a line.",
      discussion: """
        Examples:
          carillon segment import vip vip.txt
          psql -Atc 'select id from users where churned' | carillon segment import churned -
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment: 1 to 64 of A-Z a-z 0-9 . _ -") var name: String
    @Argument(help: "The file; - is standard input.", completion: .file()) var file: String
  }

  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the segments and how many users each has.")

    @OptionGroup var global: GlobalOptions
  }

  struct Count: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Counts the users and devices that an expression reaches.",
      discussion: """
        & is and, | is or, ! is not, * is everybody; ! binds tightest, then &. Quote it: the shell knows these too.

        Example:
          carillon segment count 'vip & (sports | news) & !churned'
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The expression.") var expression: String
  }

  struct Export: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Writes the users that an expression reaches to standard output, one a line.",
      discussion: """
        Example:
          carillon segment export 'vip & !churned' > users.txt
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The expression.") var expression: String
  }

  struct Remove: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a segment; its users stay. Exits 1 when there is none.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The segment.") var name: String
  }
}
