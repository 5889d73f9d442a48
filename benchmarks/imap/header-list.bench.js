/**
 * How long does Thunderbird wait for the headers of a folder that is new to it?
 */
import { hasFields } from './checks.js'
import { listQuestion } from './list-question.js'

const FIELDS =
  'From To Cc Bcc Subject Date Message-ID Priority X-Priority References Newsgroups In-Reply-To Content-Type Reply-To'

export const question = listQuestion({
  id: 'header-list',
  title: 'Thunderbird’s header list of every message',
  command: `UID FETCH 1:* (UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (${FIELDS})])`,
  hasSubject: true,
  isRight: hasFields(FIELDS.split(' '))
})
