import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('ID is answered with a well-formed list, before and after login (RFC 2971 §3.2)', async (t) => {
  const server = await startImapServer(t)
  const ids = ['ID NIL', 'ID ("name" "com.apple.email.maild" "os" "iOS")', 'ID ("version" NIL)']
  for (const login of [null, 'alice']) {
    const greeting = login === null ? 'S: * OK ...\n' : ''
    const dialogue = ids.map((id) => `C: a ${id}\nS: * ID ("name" "Letterlock" ...)\nS: a OK ...`)
    await transcript(server, greeting + dialogue.join('\n'), { login })
  }
})
