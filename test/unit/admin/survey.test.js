import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runWithFewDescriptors } from '../../helpers/few-descriptors.js'
import { createAccounts, scratchFolder } from '../../helpers/process.js'

const url = (/** @type {string} */ file) => new URL(`../../../${file}`, import.meta.url).href

/** Surveys a data folder, again with no descriptor left, and again with all; says what came of it. */
const SCRIPT = `
  import { loadConfig } from '${url('config/load.js')}'
  import { openAccountServices } from '${url('src/accounts/services.js')}'
  import { HostSurvey } from '${url('src/admin/survey.js')}'
  import { systemClock as clock } from '${url('src/support/clock.js')}'
  import { createLogger } from '${url('src/telemetry/logger.js')}'
  import { takeDescriptors } from '${url('test/helpers/few-descriptors.js')}'
  const data = process.argv[1]
  const logger = createLogger({ level: 'silent' })
  const services = await openAccountServices({ config: loadConfig({ settings: { data } }), clock, logger })
  const { directory } = services
  const survey = new HostSurvey({ data, directory, whichAreOpen: async () => [], clock, logger })
  const outcome = async (work) => {
    try {
      const { mailboxes, unreadable } = await work()
      return { mailboxes, unreadable }
    } catch ({ code }) {
      return code
    }
  }
  const outcomes = [await outcome(() => survey.look())]
  const release = takeDescriptors(0)
  outcomes.push(await outcome(() => survey.look()), await outcome(() => survey.readCurrent()))
  release()
  outcomes.push(await outcome(() => survey.look()))
  await services.close()
  process.stdout.write(JSON.stringify(outcomes))`

test('a process without descriptors takes no mailbox for unreadable, and knows what it knew of the disk', async (t) => {
  const data = join(scratchFolder(t, 'survey'), 'data')
  mkdirSync(data)
  await createAccounts(data, ['anna@example.org', 'ben@example.org'])
  const all = { mailboxes: 2, unreadable: 0 }
  assert.deepEqual(JSON.parse(await runWithFewDescriptors(SCRIPT, [data])), [
    all,
    'EMFILE',
    all,
    all
  ])
})
