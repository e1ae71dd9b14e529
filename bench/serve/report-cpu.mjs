// Loaded before a program that is measured: says how much CPU time its process has used when the parent asks.
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpuUs: user + system })
})
process.channel.unref()
