/**
 * How long does it take to list every message by its ENVELOPE?
 */
import { listQuestion } from './list-question.js'
import { LISTS } from './lists.js'

export const question = listQuestion('envelope', LISTS.envelope)
