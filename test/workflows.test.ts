import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import packageJson from '../package.json' with { type: 'json' }
import nodes from '../scripts/nodes.json' with { type: 'json' }

interface Step {
  readonly uses?: string
  readonly run?: string
}
interface Job {
  readonly 'runs-on': string
  readonly 'timeout-minutes'?: number
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } & Readonly<Record<string, unknown>> }
  readonly steps: readonly Step[]
}
interface Workflow {
  readonly on: object
  readonly permissions: object
  readonly concurrency: object
  readonly jobs: Readonly<Record<string, Job>>
}

const at = (path: string): URL => new URL(`../${path}`, import.meta.url)
const read = (path: string): string => readFileSync(at(path), 'utf8')
const filesIn = (folder: string): string[] => readdirSync(at(folder)).map((name) => `${folder}/${name}`)

const workflows = filesIn('.github/workflows')
const workflow = (path: string): Workflow => parse(read(path))
const ci = workflow('.github/workflows/ci.yml')

describe.each(workflows)('%s', (path) => {
  const { on, permissions, concurrency, jobs } = workflow(path)

  it('says when it runs, and may only read unless a job says more', () => {
    expect([on, concurrency]).toEqual([expect.any(Object), expect.any(Object)])
    expect(permissions).toEqual({ contents: 'read' })
  })

  it.each(Object.entries(jobs))('%s has a runner, an end, and steps that do one thing each', (_, job) => {
    expect(job['runs-on']).toBe('ubuntu-24.04')
    expect(job['timeout-minutes']).toBeGreaterThan(0)
    expect(job.steps.filter(({ run, uses }) => (run === undefined) === (uses === undefined))).toEqual([])
    const actions = job.steps.flatMap(({ uses }) => uses ?? [])
    expect(actions.filter((action) => !/^[\w-]+\/[\w-]+@v\d+$/.test(action))).toEqual([])
  })
})

it.each([...workflows, '.ci/run'])('npm has every script that %s runs', (path) => {
  const scripts = scriptsIn(read(path))
  expect(scripts.length).toBeGreaterThan(0)
  expect(scripts.filter((name) => !Object.hasOwn(packageJson.scripts, name))).toEqual([])
})

it('ci.yml runs everything that .ci/run runs', () => {
  const steps = Object.values(ci.jobs).flatMap((job) => job.steps.flatMap(({ run = '' }) => run.split('\n')))
  const commands = read('.ci/run').match(/^(\w+=\w+ )?npm .+$/gm) ?? []
  expect(commands).toContain('SLUICE_EFFORT=ci npm test -- --coverage')
  expect(commands.filter((command) => !steps.includes(command))).toEqual([])
})

describe('the matrix of ci.yml', () => {
  const { node, engine, include } = ci.jobs.test?.strategy?.matrix ?? { node: [] }

  it('has the Nodes of npm run test:nodes, and begins with the oldest that the package permits', () => {
    expect(node).toEqual(nodes)
    expect(packageJson.engines.node).toBe(`>=${Math.min(...node)}`)
  })

  it('has an image and a server for every engine', () => {
    const entry = {
      image: expect.any(String),
      server: expect.stringMatching(/^\/usr\/local\/bin\/(redis|valkey)-server$/),
    }
    expect(include).toEqual((engine as string[]).map((name) => ({ engine: name, ...entry })))
  })
})

describe('an issue', () => {
  const forms = filesIn('.github/ISSUE_TEMPLATE').filter((path) => !path.endsWith('config.yml'))

  it.each(forms)('%s asks questions that GitHub can show', (path) => {
    const { name, description, body } = parse(read(path))
    expect([name, description]).toEqual([expect.any(String), expect.any(String)])
    const questions = (body as { type: string; id: string; attributes: { label: string } }[]).filter(
      ({ type }) => type !== 'markdown',
    )
    const known = ['input', 'textarea', 'dropdown', 'checkboxes']
    expect(questions.filter(({ type, attributes }) => !known.includes(type) || !attributes.label)).toEqual([])
    const ids = questions.map(({ id }) => id)
    expect(ids.filter((id, index) => !/^[\w-]+$/.test(id) || ids.indexOf(id) !== index)).toEqual([])
  })

  it('about a vulnerability is sent to the page that says how to report one', () => {
    const { contact_links: links } = parse(read('.github/ISSUE_TEMPLATE/config.yml'))
    const repository = packageJson.repository.url.replace(/^git\+|\.git$/g, '')
    expect(links).toMatchObject([{ url: `${repository}/blob/main/SECURITY.md` }])
    expect(existsSync(at('SECURITY.md'))).toBe(true)
  })
})

function scriptsIn(text: string): string[] {
  return [...text.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test)\b)/g)].map(
    ([, name, test]) => name ?? (test as string),
  )
}
