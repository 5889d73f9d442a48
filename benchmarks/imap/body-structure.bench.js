/**
 * How long does it take to fetch the structure of every message?
 */
import { hasStructure } from './checks.js'
import { listQuestion } from './list-question.js'

export const question = listQuestion({
  id: 'body-structure',
  title: 'FETCH 1:* (BODYSTRUCTURE)',
  command: 'FETCH 1:* (BODYSTRUCTURE)',
  hasSubject: false,
  isRight: hasStructure
})
