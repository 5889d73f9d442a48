/** Drives a Receiver in tests: bytes in, events and typed commands out. */
import assert from 'node:assert/strict'
import { Receiver } from '../../src/imap/protocol/receiver.js'
import { parseCommand } from '../../src/imap/protocol/parse/index.js'

/** @typedef {import('../../src/imap/protocol/receiver.js').ReceiverEvent} ReceiverEvent */
/** @typedef {import('../../src/imap/protocol/receiver-limits.js').ReceiverLimits} ReceiverLimits */
/** @typedef {import('../../src/imap/protocol/token.js').Token} Token */

/** @type {ReceiverLimits} */
export const TEST_LIMITS = {
  maxLineBytes: 8192,
  maxLiteralBytes: 4096,
  maxCommandBytes: 16384,
  maxNesting: 50,
  maxMessageBytes: 100_000
}

/**
 * @param {Receiver} receiver
 * @param {{ onMessage?: 'accept' | 'reject' | 'leave' }} [options] - how message literals are answered
 * @returns {ReceiverEvent[]} all there are
 */
export function readEvents(receiver, { onMessage = 'accept' } = {}) {
  const events = []
  for (let event = receiver.read(); event !== null; event = receiver.read()) {
    events.push(event)
    if (event.kind === 'message' && onMessage === 'accept') receiver.acceptMessage()
    if (event.kind === 'message' && onMessage === 'reject') receiver.rejectMessage()
  }
  return events
}

/**
 * @param {string | Buffer} wire - text is taken as UTF-8
 * @param {Partial<ReceiverLimits>} [limits]
 * @returns {ReceiverEvent[]}
 */
export function receive(wire, limits = {}) {
  const receiver = new Receiver({ ...TEST_LIMITS, ...limits })
  receiver.push(Buffer.from(wire))
  return readEvents(receiver)
}

/**
 * The arguments of one command.
 * @param {string | Buffer} wire - without tag and line end
 * @param {{ isUtf8?: boolean }} [options]
 * @returns {any}
 */
export function parseWire(wire, { isUtf8 = false } = {}) {
  const events = receive(Buffer.concat([Buffer.from('a '), Buffer.from(wire), Buffer.from('\r\n')]))
  const last = events.at(-1)
  if (last?.kind === 'error') throw last.failure
  if (last?.kind !== 'command') throw new Error(`The command is not complete: ${last?.kind}`)
  return parseCommand(last.command, { isUtf8 }).args
}

/**
 * Tokens in a short form that can be compared: atoms as text, strings as `s:…`, lists as arrays, messages as `m:size`.
 * @param {Token[]} tokens
 * @returns {any[]}
 */
export function sketch(tokens) {
  return tokens.map((token) => {
    if (token.type === 'atom') return token.text
    if (token.type === 'list') return sketch(token.items)
    if (token.type === 'streamed') return `m:${token.size}`
    return `s:${token.bytes.toString('latin1')}`
  })
}

/**
 * Events in a form that does not depend on how the bytes were cut into chunks.
 * @param {ReceiverEvent[]} events
 * @returns {any[]}
 */
export function sketchEvents(events) {
  /** @type {any[]} */
  const sketches = []
  for (const event of events) {
    if (event.kind === 'messageData') {
      const last = sketches.at(-1)
      const text = event.chunk.toString('latin1')
      if (last?.[0] === 'data' && !last[2]) {
        last[1] += text
        last[2] = event.isLast
      } else sketches.push(['data', text, event.isLast])
    } else sketches.push(sketchEvent(event))
  }
  return sketches
}

/** @param {Exclude<ReceiverEvent, { kind: 'messageData' }>} event */
function sketchEvent(event) {
  switch (event.kind) {
    case 'command':
      return ['command', event.command.tag, event.command.name, ...sketch(event.command.tokens)]
    case 'message':
      return ['message', event.literal, ...sketch(event.command.tokens)]
    case 'error':
      return ['error', event.tag, event.failure.code, event.isFatal]
    case 'line':
      return ['line', event.line.toString('latin1')]
    default:
      return [event.kind]
  }
}

/** How `assert.throws` knows a SyntaxFailure of one code. */
/** @param {string} code */
export const failure = (code) => ({ name: 'SyntaxFailure', code })

/**
 * @param {string | Buffer} wire - of a command that must not parse
 * @param {string} [code] - of the failure
 */
export const refuses = (wire, code = 'BAD_SYNTAX') =>
  assert.throws(() => parseWire(wire), failure(code), String(wire))
