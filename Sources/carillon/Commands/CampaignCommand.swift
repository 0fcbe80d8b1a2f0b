import ArgumentParser

/// `carillon campaign`.
struct CampaignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "campaign",
    abstract: "Submits, shows and steers campaigns.",
    subcommands: [Submit.self, Show.self, List.self, Watch.self, Pause.self, Resume.self, Cancel.self])

  struct Submit: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Checks a job and puts it into the queue; prints its id.",
      discussion: """
        The same job again changes nothing. Another job under a used id is a conflict (exit 65).

        Examples:
          carillon campaign submit job.json
          echo '{"id":"hello-1","app":"news","audience":{"segment":"vip & !churned"},
                 "payload":{"aps":{"alert":"Hello"}}}' | carillon campaign submit -
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The job, JSON; - is standard input.", completion: .file(extensions: ["json"]))
    var file: String
  }

  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a campaign's state and counts; exits 1 when there is no such campaign.",
      discussion: """
        Examples:
          carillon campaign show spring-sale-2026
          carillon campaign show spring-sale-2026 --json | jq .outcomes
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
  }

  struct List: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the campaigns, the newest first.")

    @OptionGroup var global: GlobalOptions
  }

  struct Watch: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a campaign's progress until it ends; exits 1 when it failed or was cancelled.",
      discussion: """
        Example:
          carillon campaign watch spring-sale-2026
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
  }

  struct Pause: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Pauses a campaign everywhere; what is in flight is still recorded.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
  }

  struct Resume: CarillonCommand {
    static let configuration = CommandConfiguration(abstract: "Lets a paused campaign go on.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
  }

  struct Cancel: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ends a campaign: what was not sent is recorded as cancelled. There is no way back.")

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The campaign's id.") var id: String
  }
}
