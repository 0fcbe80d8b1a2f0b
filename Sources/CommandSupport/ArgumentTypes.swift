public import CampaignStore
public import PushTransport
public import ArgumentParser
public import Logging

// Command-line spellings of values of other modules. The modules of these types and ArgumentParser do not depend on
// each other, so these conformances must be in this file.

extension Logger.Level: @retroactive ExpressibleByArgument {}

extension PushEngineKind: ExpressibleByArgument {}

extension AccessRole: ExpressibleByArgument {}
