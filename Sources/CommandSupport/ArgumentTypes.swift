public import CampaignStore
public import PushTransport
public import ArgumentParser
public import Logging

// This file lets ArgumentParser read types of other modules from the command line. These modules do not import
// ArgumentParser, so the conformances are here.

extension Logger.Level: @retroactive ExpressibleByArgument {}

extension PushEngineKind: ExpressibleByArgument {}

extension AccessRole: ExpressibleByArgument {}
