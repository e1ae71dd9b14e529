import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { RESULTS } from './report.mjs'

const PAGE = new URL('../docs/speed.md', import.meta.url)
const MARKED = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- \/measured -->)/
const REPORTS = ['redis', 'redis-server', 'hot-key', 'attack', 'alone', 'tiers', 'growth', 'accuracy', 'memory', 'http']

/** Puts the goals of every report in `bench/results/` into docs/speed.md, each with the command that made it. */
export function writeSpeedPage() {
  const page = readFileSync(PAGE, 'utf8')
  if (!MARKED.test(page)) throw new Error('docs/speed.md has lost the marks around what is measured')
  const sections = REPORTS.filter((name) => existsSync(fileOf(name))).map(sectionOf)
  writeFileSync(
    PAGE,
    page.replace(MARKED, () => `\n${sections.join('\n\n')}\n\n`),
  )
}

function sectionOf(name) {
  const report = readFileSync(fileOf(name), 'utf8')
  const [, title] = /^# (.*)$/m.exec(report)
  const [made] = /^Made on [\s\S]*?(?=\n\n)/m.exec(report)
  const [goals] = /^\| goal [\s\S]*?(?=\n\n)/m.exec(report) ?? []
  const parts = [`### ${title}`, `${made}\n[The whole report](../bench/results/${name}.md).`, goals]
  return parts.filter((part) => part !== undefined).join('\n\n')
}

function fileOf(name) {
  return new URL(`${name}.md`, RESULTS)
}
