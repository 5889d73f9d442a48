/**
 * How long does it take to fetch the structure of every message?
 */
import { listQuestion } from './list-question.js'
import { LISTS } from './lists.js'

export const question = listQuestion('body-structure', LISTS.structure)
