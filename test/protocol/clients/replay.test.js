/** What each mail program says in a day, as its sources and field reports have it, and what it must be answered. */
import { testReplay } from '../../helpers/client-replay.js'

testReplay('thunderbird', 'Thunderbird reads, tags, moves to Trash and files what was sent')
testReplay('thunderbird-condstore', 'Thunderbird with CONDSTORE hears of another device')
testReplay('k9', 'K-9 and Thunderbird for Android search, read parts, move and save a draft')
testReplay(
  'apple-mail',
  'Apple Mail asks for two things in one packet and moves what is no longer there'
)
testReplay(
  'ios-mail',
  'iOS Mail lists folders with their numbers and takes messages from their first 384 KiB'
)
testReplay('outlook', 'Outlook idles before it selects and asks for RFC822.PEEK')
testReplay('neomutt', 'NeoMutt enables blindly and sends many commands at once')
testReplay('mbsync', 'mbsync pipelines fetches, appends and moves')
testReplay('offlineimap', 'OfflineIMAP scans, appends, searches its own header and expunges')
testReplay('imapflow', 'imapflow enables four extensions at once and lists with STATUS')
