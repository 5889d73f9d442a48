/**
 * How long does it take to list every message by its ENVELOPE?
 */
import { hasEnvelope } from './checks.js'
import { listQuestion } from './list-question.js'

export const question = listQuestion({
  id: 'envelope',
  title: 'FETCH 1:* (ENVELOPE)',
  command: 'FETCH 1:* (ENVELOPE)',
  hasSubject: true,
  isRight: hasEnvelope
})
