/**
 * How long does a program wait that lists a folder by whole headers, as KMail, Sylpheed and aerc do?
 */
import { listQuestion } from './list-question.js'
import { LISTS } from './lists.js'

export const question = listQuestion('whole-headers', LISTS['whole-headers'])
