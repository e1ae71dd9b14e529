// Compiles projects in one process: node compile-projects.cjs <folder of a typescript> <project>...
//
// What they all import is read and bound once, which is most of the time that `tsc -p` takes for each of them. Prints, as JSON, what the
// compiler complains of in each, and writes what it compiled.
const { join } = require('node:path')

const [, , compiler, ...projects] = process.argv
const ts = require(compiler)
const cache = new Map()
const complaints = projects.map(compile)
console.log(JSON.stringify(complaints))

function compile(project) {
  const { config } = ts.readConfigFile(join(project, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, project)
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  host.getSourceFile = (name, how, ...others) => {
    // How a file is bound depends on these.
    const key = [name, JSON.stringify(how), options.module, options.moduleResolution].join('\n')
    if (!cache.has(key)) cache.set(key, read(name, how, ...others))
    return cache.get(key)
  }
  const program = ts.createProgram(fileNames, options, host)
  const { diagnostics } = program.emit()
  return [...errors, ...ts.getPreEmitDiagnostics(program), ...diagnostics].map((one) =>
    ts
      .formatDiagnostic(one, {
        getCurrentDirectory: () => project,
        getCanonicalFileName: String,
        getNewLine: () => '\n',
      })
      .trim(),
  )
}
