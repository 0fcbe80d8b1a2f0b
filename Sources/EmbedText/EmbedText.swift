import Foundation
import PackagePlugin

/// Embeds the Lua and HTML files of a module in its code, as strings in an enum `EmbeddedText`.
///
/// SwiftPM can embed resources too, but as array literals with an element for each byte. The compiler needs 25 s for
/// those of this package, and less than 1 s for strings.
@main struct EmbedText: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) -> [Command] {
    guard let module = target.sourceModule else { return [] }
    let files = module.sourceFiles.map(\.url).filter { ["lua", "html"].contains($0.pathExtension) }
      .sorted { $0.path < $1.path }
    let script = context.package.directoryURL.appending(path: "Sources/EmbedText/embed-text")
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedText.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) files in \(module.name)", executable: script,
        arguments: [output.path] + files.map(\.path), inputFiles: files + [script], outputFiles: [output])
    ]
  }
}
