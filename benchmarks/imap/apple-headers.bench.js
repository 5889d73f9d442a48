/**
 * How long does Apple Mail wait for the headers of a folder that is new to it?
 */
import { listQuestion } from './list-question.js'
import { LISTS } from './lists.js'

export const question = listQuestion('apple-headers', LISTS['apple-headers'])
