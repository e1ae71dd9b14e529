// One server of bench/http.mjs in a process of its own: tells its port, and when it is asked, the CPU time it has taken.
import { nameOf, subjects } from './http-subjects.mjs'

const subject = subjects.find((candidate) => nameOf(candidate) === process.argv[2])
process.send({ port: await subject.open() })
process.on('message', () => process.send(process.cpuUsage()))
process.once('disconnect', () => process.exit())
