public import CampaignStore
public import PushTransport
public import ArgumentParser
public import Logging

// Values of other modules as command lines spell them. Neither module knows of the other, so the conformances can only
// stand here.

extension Logger.Level: @retroactive ExpressibleByArgument {}

extension PushEngineKind: ExpressibleByArgument {}

extension AccessRole: ExpressibleByArgument {}
