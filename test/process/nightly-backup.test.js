/**
 * What a server does each night.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostIdOf } from '../../src/backup/host-state.js'
import { generationName } from '../../src/backup/repository.js'
import { scheduleNightly } from '../../src/backup/schedule.js'
import { nightlyCommand } from '../../src/cli/nightly-command.js'
import { backupServer, logIn } from '../helpers/backup-server.js'
import { recordingLogger } from '../helpers/log-lines.js'
import { ManualClock } from '../helpers/manual-clock.js'
import { startServerProcess } from '../helpers/process.js'

test('a server that runs backs up at its hour, in a child process', async (t) => {
  const { data, target, env } = await backupServer(t)
  const go = join(data, '..', 'go')
  const server = await startServerProcess(t, {
    data,
    environment: {
      ...env,
      LETTERLOCK_BACKUP_HOUR: '3',
      LETTERLOCK_BACKUP_JITTER_MINUTES: '0',
      // Its clock stands still while it starts: once it is past the hour, the next night is waited for.
      LETTERLOCK_TEST_NOW_MS: String(Date.UTC(2030, 0, 1, 2, 59, 59)),
      LETTERLOCK_TEST_GO: go,
      NODE_OPTIONS: `--import=${new URL('../helpers/shifted-clock.js', import.meta.url)}`
    }
  })
  assert.equal(existsSync(join(target, 'generations')), false)
  writeFileSync(go, '')
  await server.says('the nightly backup is done')
  const [generation = ''] = readdirSync(join(target, 'generations'))
  assert.match(generation, /^2030-01-01T03-/)
  ;(await logIn(server.ports.imap)).destroy()
  assert.equal(await server.stop(), 0)
})

test('what a server starts each night is the whole job', async (t) => {
  const { data, target, env } = await backupServer(t)
  // No other shell of the test is between: the job finds its settings in the environment, as the server's child does.
  Object.assign(process.env, env)
  t.after(() => Object.keys(env).forEach((name) => delete process.env[name]))
  // PM2 has the process that waits for the hour load what its daemon does; the job has nothing to do with it.
  process.execArgv.push('--import=data:text/javascript,process.exit(9)')
  t.after(() => process.execArgv.pop())
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 59))
  const { logger, lines } = recordingLogger()
  const job = scheduleNightly({
    settings: { hour: 3, cron: '', jitterMinutes: 0 },
    hostId: await hostIdOf(data),
    command: nightlyCommand({ defaultDomain: 'example.org' }, data),
    isWanted: async () => true,
    clock,
    logger,
    lookMs: 10
  })
  clock.advance(60_000)
  while (lines.length === 0) await sleep(20)
  await job.close()
  assert.equal(lines[0]?.['msg'], 'the nightly backup is done')
  assert.equal(readdirSync(join(target, 'generations')).length, 1)
})

test('a kept manifest that cannot be read stops the pruning of a night, and neither its backup nor its rehearsal', async (t) => {
  const { target, backup } = await backupServer(t)
  assert.equal((await backup(['run'])).code, 0)
  // Of a day of its own, so that it is kept.
  const old = `${generationName(Date.now() - 48 * 3_600_000)}.json`
  writeFileSync(join(target, 'generations', old), 'x')
  const nightly = await backup(['nightly'])
  assert.equal(nightly.code, 1)
  assert.match(
    nightly.stderr,
    new RegExp(`^backup prune: .*\\(generations/${old} is not JSON\\)$`, 'm')
  )
  assert.match(nightly.stdout, /2 accounts, 0 failed/)
  assert.match(nightly.stdout, /2 accounts restored .*, 0 failed/)
  assert.equal((await backup(['prune'])).code, 2)
})
