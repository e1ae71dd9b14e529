// The servers of bench/http.mjs: one without a limiter and the one that is measured, in one process. Tells their ports, and when it is
// asked, the CPU time it has taken.
import { bareOf, nameOf, subjects } from './http-subjects.mjs'

const subject = subjects.find((candidate) => nameOf(candidate) === process.argv[2])
process.send({ bare: await bareOf(subject).open(), measured: await subject.open() })
process.on('message', () => process.send(process.cpuUsage()))
process.once('disconnect', () => process.exit())
