import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { GatewayName, Gateways } from './find-gateways.ts'

/** What a proxy stands between, and what it does when the service gives no decision. */
export interface Places {
  readonly port: number
  readonly servicePort: number
  readonly applicationPort: number
  readonly isOpen: boolean
}

/** How to run an example. */
interface Example {
  /** Its files, which the page prints. */
  readonly files: readonly string[]
  /** The file that has the choice between closed and open, and the edit that the page names for it. */
  readonly choice: { readonly file: string; readonly from: string; readonly to: string }
  /** What an installed proxy has besides, by file name. */
  others?(folder: string, places: Places, gateways: Gateways): Readonly<Record<string, string>>
  args(folder: string): readonly string[]
}

const EXAMPLES: Readonly<Record<GatewayName, Example>> = {
  nginx: {
    files: ['nginx/sluice.conf'],
    choice: { file: 'nginx/sluice.conf', from: '= @closed;', to: '= @open;' },
    others: (folder) => ({ 'nginx.conf': composeNginx(folder) }),
    args: (folder) => ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')],
  },
  caddy: {
    files: ['caddy/Caddyfile'],
    choice: { file: 'caddy/Caddyfile', from: 'import closed', to: 'import open' },
    // Its administration would listen on a port that is the same for all.
    others: (folder) => ({ Caddyfile: `{\n\tadmin off\n}\nimport ${join(folder, 'caddy/Caddyfile')}\n` }),
    args: (folder) => ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
  },
  haproxy: {
    files: ['haproxy/haproxy.cfg', 'haproxy/sluice.lua'],
    choice: {
      file: 'haproxy/haproxy.cfg',
      from: 'http-request return status 503',
      to: '# http-request return status 503',
    },
    args: (folder) => ['-db', '-f', join(folder, 'haproxy/haproxy.cfg')],
  },
  apache2: {
    files: ['apache/sluice.conf', 'apache/sluice.lua'],
    choice: { file: 'apache/sluice.lua', from: 'WITHOUT_DECISION = "closed"', to: 'WITHOUT_DECISION = "open"' },
    others: (folder, { port }, { apacheModules }) => ({ 'apache2.conf': composeApache(folder, port, apacheModules) }),
    args: (folder) => ['-X', '-f', join(folder, 'apache2.conf')],
  },
}

/**
 * Writes an example into a folder as it is printed, but for ports, places of files and the choice, and gives the arguments that run it.
 */
export async function writeExample(
  name: GatewayName,
  folder: string,
  places: Places,
  gateways: Gateways,
): Promise<readonly string[]> {
  const { files, choice, others, args } = EXAMPLES[name]
  const texts: Record<string, string> = { ...others?.(folder, places, gateways) }
  for (const file of files) {
    const printed = await readFile(new URL(`../../examples/gateways/${file}`, import.meta.url), 'utf8')
    const text = places.isOpen && file === choice.file ? replaceOnce(printed, choice.from, choice.to) : printed
    texts[file] = moveHere(text, folder, places)
  }
  for (const [file, text] of Object.entries(texts)) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  return args(folder)
}

function replaceOnce(text: string, from: string, to: string): string {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`the example must have "${from}" once, got it ${parts.length - 1} times`)
  return parts.join(to)
}

function moveHere(text: string, folder: string, { port, servicePort, applicationPort }: Places): string {
  return text
    .replaceAll(/\b8000\b/g, `${port}`)
    .replaceAll(/\b8080\b/g, `${servicePort}`)
    .replaceAll(/\b3000\b/g, `${applicationPort}`)
    .replaceAll('abns@sluice', `abns@sluice-${port}`)
    .replaceAll('/etc/haproxy/', `${folder}/haproxy/`)
    .replaceAll('/etc/apache2/sluice.lua', `${folder}/apache/sluice.lua`)
}

function composeNginx(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder};`)
  return `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events {}
http { access_log off; ${temporary.join(' ')} include ${folder}/nginx/sluice.conf; }
`
}

function composeApache(folder: string, port: number, modules: string): string {
  const load = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'lua'].map((name) => {
    return `LoadModule ${name}_module ${modules}/mod_${name}.so`
  })
  return `ServerRoot ${folder}
ServerName localhost
User nobody
Group nogroup
PidFile ${folder}/pid
ErrorLog /dev/stderr
Listen 127.0.0.1:${port}
${load.join('\n')}
Include ${folder}/apache/sluice.conf
`
}
