import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { missing, PASSWORD, run, startMailServer } from '../helpers/programs.js'

const SCRIPT = fileURLToPath(new URL('imaplib-everyday.py', import.meta.url))

for (const security of /** @type {const} */ (['tls', 'starttls'])) {
  test(
    `Python’s imaplib does its everyday work, ${security}`,
    { skip: missing('python3') },
    async (t) => {
      const mail = await startMailServer(t)
      const input = JSON.stringify({
        host: 'localhost',
        port: security === 'tls' ? mail.ports.imaps : mail.ports.imap,
        security,
        certificate: mail.certificate,
        user: 'anna@example.org',
        password: PASSWORD
      })
      const { code, output } = await run('python3', ['-B', SCRIPT], { input })
      assert.deepEqual({ code, output }, { code: 0, output: 'done\n' })
    }
  )
}
