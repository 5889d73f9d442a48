/**
 * What it takes to look at the folders of many accounts, as the server does it in the background:
 * `npx node benchmarks/scale/folders.js 10000`. The mailbox files are one page of zeros: nobody opens them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HostSurvey } from '../../src/admin/survey.js'
import { cleanLeftovers } from '../../src/maintenance/leftovers.js'
import { systemClock as clock } from '../../src/support/clock.js'
import { createLogger } from '../../src/telemetry/logger.js'

const PAGE = Buffer.alloc(4096)
const logger = createLogger({ level: 'warn' })

/**
 * @param {string} what
 * @param {() => Promise<unknown>} work
 */
async function timed(what, work) {
  const before = process.cpuUsage()
  const startedAt = performance.now()
  await work()
  const { user, system } = process.cpuUsage(before)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(
    `| ${what} | ${seconds} s, ${((user + system) / 1e6).toFixed(1)} s of processor time |`
  )
}

const count = Number(process.argv[2] ?? 10_000)
const data = mkdtempSync(join(tmpdir(), 'letterlock-folders-'))
try {
  const rows = Array.from({ length: count }, (_, n) => {
    const id = n.toString(16).padStart(16, '0')
    return { id, folder: join('mail', `domain${n % 100}.example`, id) }
  })
  for (const { folder } of rows) {
    mkdirSync(join(data, folder), { recursive: true })
    writeFileSync(join(data, folder, 'mail.db'), PAGE)
    writeFileSync(join(data, folder, 'mail.lock'), '')
  }
  /** The part of the directory that is asked; what it costs itself, directory.js measures. */
  const directory = /** @type {import('../../src/accounts/directory-port.js').DirectoryPort} */ (
    /** @type {unknown} */ ({
      pageFolders: async (/** @type {{ afterId: string, limit: number }} */ { afterId, limit }) => {
        const from = afterId === '' ? 0 : Number.parseInt(afterId, 16) + 1
        return rows.slice(from, from + limit)
      },
      listMaintenanceFailures: async () => ({ failing: [], failingTotal: 0 })
    })
  )
  const config = /** @type {import('../../config/load.js').Config} */ ({ data })
  const survey = new HostSurvey({ data, directory, whichAreOpen: async () => [], clock, logger })
  await timed('the look at all folders, each minute, in each process', () => survey.look())
  const services = { config, directory, clock, logger }
  await timed('leftovers, at each start of each process', () => cleanLeftovers({ services }).done)
} finally {
  rmSync(data, { recursive: true, force: true })
}
