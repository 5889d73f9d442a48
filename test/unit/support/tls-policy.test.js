import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const POLICY = new URL('../../../src/support/tls-policy.js', import.meta.url).href
const PRINT = `const { TLS_POLICY } = await import(${JSON.stringify(POLICY)}); console.log(JSON.stringify(TLS_POLICY))`

for (const [option, minVersion, ciphers] of /** @type {const} */ ([
  ['--no-warnings', 'TLSv1.2', /:!kRSA$/],
  ['--tls-min-v1.3', 'TLSv1.3', /:!kRSA$/],
  ['--tls-min-v1.0', 'TLSv1.2', /:!kRSA$/],
  ['--tls-cipher-list=AES128-SHA', 'TLSv1.2', /^AES128-SHA:!kRSA$/]
])) {
  test(`Node’s own options may narrow what TLS permits, not widen it (RFC 9325): ${option}`, () => {
    const args = [option, '--input-type=module', '--eval', PRINT]
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    const policy = JSON.parse(stdout)
    assert.equal(policy.minVersion, minVersion)
    assert.match(policy.ciphers, ciphers)
  })
}
