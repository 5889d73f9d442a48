import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../../config/load.js'
import { dnsLines, publicAddresses } from '../../../src/cli/doctor/dns.js'
import { clientSettings } from '../../../src/discovery/client-settings.js'

const settingsOf = (/** @type {Record<string, unknown>} */ settings) =>
  clientSettings(
    loadConfig({ settings: { 'discovery.host': 'mail.example.org', ...settings }, environment: {} })
  )

test('a zone file’s lines: mail, services with their ports, and what is not there', () => {
  const lines = dnsLines({
    domains: ['example.org'],
    settings: settingsOf({ 'imap.listen': 'off', 'discovery.submissionPort': 0 }),
    hasDiscovery: true,
    addresses: ['203.0.113.5', '2001:db8::5']
  })
  const records = lines.filter((line) => line !== '' && !line.startsWith(';'))
  assert.deepEqual(records, [
    'mail.example.org. IN A 203.0.113.5',
    'mail.example.org. IN AAAA 2001:db8::5',
    'example.org. IN MX 10 mail.example.org.',
    'example.org. IN TXT "v=spf1 mx -all"',
    '_imaps._tcp.example.org. IN SRV 0 1 993 mail.example.org.',
    '_imap._tcp.example.org. IN SRV 0 0 0 .',
    '_pop3s._tcp.example.org. IN SRV 0 0 0 .',
    '_pop3._tcp.example.org. IN SRV 0 0 0 .',
    '_submissions._tcp.example.org. IN SRV 0 1 465 mail.example.org.',
    '_submission._tcp.example.org. IN SRV 0 0 0 .',
    'autoconfig.example.org. IN CNAME mail.example.org.',
    '_autodiscover._tcp.example.org. IN SRV 0 1 443 mail.example.org.'
  ])
})

test('each domain has its lines; nothing points at questions that nobody answers', () => {
  const lines = dnsLines({
    domains: ['a.example', 'b.example'],
    settings: settingsOf({ 'imaps.listen': '0.0.0.0:10993' }),
    hasDiscovery: false
  })
  for (const domain of ['a.example', 'b.example']) {
    assert.ok(lines.includes(`_imaps._tcp.${domain}. IN SRV 0 1 10993 mail.example.org.`))
    assert.ok(lines.includes(`_imap._tcp.${domain}. IN SRV 0 1 143 mail.example.org.`))
    assert.ok(!lines.some((line) => line.startsWith(`autoconfig.${domain}`)))
  }
})

test('only addresses that the world can reach are named', () => {
  const info = (/** @type {string} */ address, internal = false) =>
    /** @type {import('node:os').NetworkInterfaceInfo} */ ({ address, internal })
  assert.deepEqual(
    publicAddresses({
      lo: [info('127.0.0.1', true), info('::1', true)],
      eth0: [info('10.1.2.3'), info('203.0.113.5'), info('fe80::1'), info('2001:db8::5')],
      eth1: [info('172.20.0.1'), info('192.168.1.1'), info('100.64.0.1'), info('fd00::1')],
      eth2: [info('172.32.0.1')]
    }),
    ['203.0.113.5', '2001:db8::5', '172.32.0.1']
  )
})
