import ArgumentParser
import CommandSupport

/// The root of the command tree.
struct Carillon: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "carillon",
    abstract: "Send push campaigns to Apple and Android devices from a queue in Redis.",
    discussion: """
      The configuration file is --config, else the environment variable CARILLON_CONFIG, else Config/carillon.yaml. An \
      environment variable can override any key: CARILLON_REDIS_URL overrides redis.url.

      Examples:
        carillon devices import devices.csv
        carillon segment import vip vip.txt
        carillon campaign submit job.json
        carillon campaign watch spring-sale-2026
        carillon worker

      Exit status: 0 success; 1 failure; 64 wrong usage; 65 bad input; 69 Redis or a push service unreachable; 70 a \
      bug in Carillon.
      """,
    version: version,
    subcommands: [
      InitCommand.self, DoctorCommand.self, StatusCommand.self, TopCommand.self, WorkerCommand.self,
      CampaignCommand.self, DevicesCommand.self,
      SegmentCommand.self, SuppressionCommand.self, TemplateCommand.self,
      ResultsCommand.self, QuarantineCommand.self, DeadCommand.self, StoreCommand.self, SendCommand.self,
      LintCommand.self,
      ChannelCommand.self, SimulateCommand.self, AdminCommand.self,
      UsersCommand.self,
    ])

  /// The version of this program.
  static let version = FaultEnvironment.version ?? "0.1.0"

  @OptionGroup var global: GlobalOptions
}
