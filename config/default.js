/**
 * Every setting of Letterlock, once: its default, its type and range, its unit, and why it is what it is.
 * The check (check-settings.js), the environment names and docs/configuration.md are made from this table.
 * All settings are read at start; a change needs a restart.
 */

/**
 * @typedef {object} Setting
 * @property {string | number | boolean | string[]} value - the default
 * @property {string} unit - '' where the value has none
 * @property {string} reason - what it does, and why the default is what it is
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {readonly string[]} [choices]
 * @property {'address' | 'block' | 'cron' | 'domain' | 'path' | 'url'} [format] - `address` is HOST:PORT, [IPV6]:PORT or `off`;
 *   `block` an address or a CIDR block, each item of a list; `cron` a cron expression of five fields, or empty; `url` one of
 *   HTTP, or empty
 * @property {true} [isNeeded] - it may not be empty
 */

const KiB = 1024
const MiB = 1024 * KiB
const minuteMs = 60_000

/** @satisfies {Record<string, Setting>} */
export const SETTINGS = {
  data: {
    value: 'data',
    unit: 'folder',
    format: 'path',
    isNeeded: true,
    reason:
      'Holds everything that must survive: mailboxes, spools, directory, pepper and certificate.'
  },
  defaultDomain: {
    value: 'localhost',
    unit: '',
    format: 'domain',
    reason: 'A login name without a domain belongs to this one.'
  },

  'imap.listen': {
    value: '127.0.0.1:1143',
    unit: 'address',
    format: 'address',
    reason: 'IMAP with STARTTLS. Loopback and above 1023, so that a first start needs no root.'
  },
  'imap.allowPlaintextLoopback': {
    value: false,
    unit: '',
    reason:
      'Permits LOGIN without TLS from 127.0.0.0/8 and ::1 alone; for a proxy or a test on one host.'
  },
  'imap.loginTimeoutMs': {
    value: 2 * minuteMs,
    minimum: 1000,
    maximum: 60 * minuteMs,
    unit: 'ms',
    reason:
      'A connection that has not logged in by then is closed: strangers hold no sockets for long.'
  },
  'imap.inactivityTimeoutMs': {
    value: 31 * minuteMs,
    minimum: 30 * minuteMs,
    maximum: 24 * 60 * minuteMs,
    unit: 'ms',
    reason: 'Autologout; RFC 9051 §5.4 asks for at least 30 minutes. It never ends an IDLE.'
  },
  'imap.idleReminderMs': {
    value: 2 * minuteMs,
    minimum: 1000,
    maximum: 29 * minuteMs,
    unit: 'ms',
    reason:
      'An untagged OK in IDLE keeps network address translators and phones from dropping the line.'
  },
  'imap.maxConnections': {
    value: 20_000,
    minimum: 1,
    maximum: 1_000_000,
    unit: 'connections',
    reason: 'Above this a new connection gets BYE, before the process runs out of descriptors.'
  },
  'imap.maxConnectionsPerAccount': {
    value: 100,
    minimum: 1,
    maximum: 100_000,
    unit: 'connections',
    reason:
      'Thunderbird opens 5 for each device and Apple Mail more; 100 leaves room for a family of devices.'
  },
  'imap.maxConnectionsPerAddress': {
    value: 500,
    minimum: 1,
    maximum: 1_000_000,
    unit: 'connections',
    reason: 'IPv6 counts by /64. Offices and Outlook’s cloud put many people behind one address.'
  },

  'imap.maxBackgroundDownloads': {
    value: 100,
    minimum: 0,
    maximum: 1_000_000,
    unit: 'sessions',
    reason:
      'iOS Mail fills its store again in the background, after an update on all iPhones at once; those beyond this come back a day later.'
  },

  'imap.isProxied': {
    value: false,
    unit: '',
    reason:
      'Every connection begins with a PROXY header (version 1 or 2) that names the client; for a load balancer in front.'
  },

  'imaps.listen': {
    value: '127.0.0.1:1993',
    unit: 'address',
    format: 'address',
    reason: 'IMAP with TLS from the first byte (RFC 8314).'
  },
  'imaps.isProxied': {
    value: false,
    unit: '',
    reason: 'As imap.isProxied; the header comes before TLS.'
  },

  'tls.certificate': {
    value: '',
    unit: 'file',
    format: 'path',
    reason: 'PEM chain. Empty: a self-signed certificate is made once in <data>/tls.'
  },
  'tls.key': {
    value: '',
    unit: 'file',
    format: 'path',
    reason: 'PEM private key of tls.certificate.'
  },

  'tls.otherFolders': {
    value: [],
    unit: 'folders',
    reason:
      'Certificates for other names: folders with fullchain.pem and privkey.pem, as certbot keeps them. A client gets the one for the name that it asks for, else tls.certificate. All are read again when they change, and on SIGHUP.'
  },

  'proxy.trustedAddresses': {
    value: ['127.0.0.1', '::1'],
    unit: 'addresses',
    format: 'block',
    reason: 'Whom a PROXY header is taken from, addresses or CIDR blocks; others are turned away.'
  },

  'lmtp.listen': {
    value: '127.0.0.1:1024',
    unit: 'address',
    format: 'address',
    reason: 'Where the mail transfer agent delivers (RFC 2033).'
  },
  'lmtp.isProxied': {
    value: false,
    unit: '',
    reason: 'As imap.isProxied.'
  },
  'lmtp.maxRecipients': {
    value: 200,
    minimum: 100,
    maximum: 10_000,
    unit: 'recipients',
    reason: 'In one transaction; RFC 5321 §4.5.3.1.8 asks for at least 100.'
  },
  'lmtp.maxConnections': {
    value: 200,
    minimum: 1,
    maximum: 100_000,
    unit: 'connections',
    reason: 'Mail transfer agents queue and come back; this bounds the sockets that they hold.'
  },
  'lmtp.timeoutMs': {
    value: 5 * minuteMs,
    minimum: 1000,
    maximum: 60 * minuteMs,
    unit: 'ms',
    reason:
      'Silence after which a delivery connection ends (RFC 5321 §4.5.3.2 gives 5 minutes), and how far a message may fall behind 500 bytes a second.'
  },
  'lmtp.overQuota': {
    value: 'temporary',
    choices: ['temporary', 'permanent'],
    unit: '',
    reason:
      'temporary answers 452 4.2.2 and the sender’s queue tries again; permanent answers 552 5.2.2.'
  },

  'sasl.socket': {
    value: '',
    unit: 'file',
    format: 'path',
    reason:
      'A unix socket where the mail transfer agent has its clients’ passwords checked (Dovecot’s authentication protocol), see docs/postfix.md. Empty: none.'
  },
  'sasl.mode': {
    value: '0660',
    choices: ['0600', '0660', '0666'],
    unit: '',
    reason: 'Of that socket. Whoever may connect may try passwords in the name of any address.'
  },
  'sasl.group': {
    value: '',
    unit: 'group',
    reason:
      'Of that socket: a name in /etc/group or a number, and the server’s user must be in it. Empty: as its folder gives it.'
  },
  'sasl.maxConnections': {
    value: 1000,
    minimum: 1,
    maximum: 100_000,
    unit: 'connections',
    reason: 'Each process of the agent that serves a client holds one; Postfix has 100 by default.'
  },

  'admin.listen': {
    value: '127.0.0.1:1080',
    unit: 'address',
    format: 'address',
    reason:
      'Health, metrics, the /v1 interface and the dashboard. Loopback: health and metrics answer this machine without a token.'
  },
  'admin.isTls': {
    value: false,
    unit: '',
    reason:
      'HTTPS with the server’s certificate. Without it, tokens are taken from this machine and the unix socket alone.'
  },
  'admin.socket': {
    value: '',
    unit: 'file',
    format: 'path',
    reason: 'A unix socket for the same, besides: only the server’s user may connect. Empty: none.'
  },

  'userPage.listen': {
    value: 'off',
    unit: 'address',
    format: 'address',
    reason:
      'A page over HTTPS where users look after their passwords and sessions, see docs/user-page.md; for instance 0.0.0.0:443. off: a page on the network is the operator’s decision.'
  },
  'userPage.isProxied': {
    value: false,
    unit: '',
    reason: 'As imap.isProxied; the header comes before TLS.'
  },
  'userPage.idleTimeoutMs': {
    value: 15 * minuteMs,
    minimum: minuteMs,
    maximum: 24 * 60 * minuteMs,
    unit: 'ms',
    reason: 'A browser that asks for nothing so long is logged out of the page.'
  },
  'userPage.maxSessionMs': {
    value: 4 * 60 * minuteMs,
    minimum: minuteMs,
    maximum: 24 * 60 * minuteMs,
    unit: 'ms',
    reason: 'After so long it is logged out in any case.'
  },

  'discovery.listen': {
    value: 'off',
    unit: 'address',
    format: 'address',
    reason:
      'Where mail programs find their settings over HTTPS, see docs/autoconfig.md; they ask on port 443. It never says which addresses there are.'
  },
  'discovery.isTls': {
    value: true,
    unit: '',
    reason:
      'HTTPS with the server’s certificates. false: plain HTTP on loopback, for a proxy in front.'
  },
  'discovery.host': {
    value: '',
    unit: '',
    reason:
      'The public name of this server, which mail programs connect to. Empty: the host’s name.'
  },
  'discovery.imapsPort': {
    value: 0,
    minimum: 0,
    maximum: 65_535,
    unit: 'port',
    reason: 'As seen from outside. 0: that of imaps.listen, or 993 where that is on loopback.'
  },
  'discovery.imapPort': {
    value: 0,
    minimum: 0,
    maximum: 65_535,
    unit: 'port',
    reason: 'The same for imap.listen and 143.'
  },
  'discovery.submissionHost': {
    value: '',
    unit: '',
    reason: 'Where mail is sent. Empty: discovery.host.'
  },
  'discovery.submissionsPort': {
    value: 465,
    minimum: 0,
    maximum: 65_535,
    unit: 'port',
    reason: 'Sending with TLS from the first byte (RFC 8314). 0: not offered.'
  },
  'discovery.submissionPort': {
    value: 587,
    minimum: 0,
    maximum: 65_535,
    unit: 'port',
    reason: 'Sending with STARTTLS. 0: not offered.'
  },

  'cluster.workers': {
    value: 0,
    minimum: 0,
    maximum: 1000,
    unit: 'workers',
    reason: 'Processes of `npm run cluster`; 0 means one for each core. `npm start` is always one.'
  },

  'messages.maxBytes': {
    value: 50 * 1000 * 1000,
    minimum: 64 * KiB,
    maximum: 1024 * MiB,
    unit: 'bytes',
    reason:
      'The largest message taken by APPEND, LMTP and import; most providers stop at 25 to 50 MB.'
  },

  'accounts.quotaBytes': {
    value: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    reason: 'For a new account that names none; 0 means no limit.'
  },
  'accounts.quotaMessages': {
    value: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'messages',
    reason: 'For a new account that names none; 0 means no limit.'
  },
  'accounts.lingerMs': {
    value: minuteMs,
    minimum: 0,
    maximum: 24 * 60 * minuteMs,
    unit: 'ms',
    reason:
      'How long a mailbox stays open, its key in memory, after the last session: phones come back at once.'
  },

  'maintenance.enabled': {
    value: true,
    unit: '',
    reason: 'Whether the server looks after open mailboxes; see docs/operations.md.'
  },
  'maintenance.concurrency': {
    value: 1,
    minimum: 1,
    maximum: 64,
    unit: 'mailboxes',
    reason: 'Mailboxes looked after at once: each keeps a core busy for moments, and the disk.'
  },
  'maintenance.fromHour': {
    value: 0,
    minimum: 0,
    maximum: 23,
    unit: 'hour',
    reason:
      'Heavy jobs (VACUUM, quick_check) begin from this hour on, local time; one that is a week overdue runs at any hour.'
  },
  'maintenance.toHour': {
    value: 24,
    minimum: 1,
    maximum: 24,
    unit: 'hour',
    reason: '… and before this one. Below fromHour: over midnight.'
  },
  'maintenance.quietMs': {
    value: 30_000,
    minimum: 0,
    maximum: 24 * 60 * minuteMs,
    unit: 'ms',
    reason: 'An open mailbox that nobody has written to for so long is quiet, and is looked after.'
  },
  'maintenance.closeBudgetMs': {
    value: 30_000,
    minimum: 0,
    maximum: 60 * minuteMs,
    unit: 'ms',
    reason:
      'What is due may keep a mailbox open, its key in memory, for so long after its time; 0: never.'
  },
  'maintenance.vacuumMaxBytes': {
    value: 256 * MiB,
    minimum: 0,
    maximum: 1024 * 1024 * MiB,
    unit: 'bytes',
    reason:
      'A mailbox with more content is never written anew beside its user: VACUUM takes as much memory. 0: none is.'
  },
  'maintenance.trashDays': {
    value: 0,
    minimum: 0,
    maximum: 36_500,
    unit: 'days',
    reason: 'What has been in the \\Trash mailbox for longer is deleted; 0: nothing ever is.'
  },
  'maintenance.junkDays': {
    value: 0,
    minimum: 0,
    maximum: 36_500,
    unit: 'days',
    reason: 'The same for the \\Junk mailbox.'
  },
  'maintenance.expungedLogDays': {
    value: 180,
    minimum: 1,
    maximum: 36_500,
    unit: 'days',
    reason:
      'How long deleted messages are known one by one (QRESYNC); a client that was away for longer is told all UIDs that are gone.'
  },
  'maintenance.quickCheckDays': {
    value: 14,
    minimum: 0,
    maximum: 36_500,
    unit: 'days',
    reason: 'How often the structure of each mailbox is checked; 0: only where damage was met.'
  },

  'auth.pepperFile': {
    value: '',
    unit: 'file',
    format: 'path',
    reason:
      '32 random bytes that every password key needs besides the password. Empty: <data>/pepper.'
  },
  'auth.isPepperLost': {
    value: false,
    unit: '',
    reason:
      'The server starts with another pepper than passwords need, or makes one: these open nothing then, recovery codes and app passwords do.'
  },
  'auth.argon2.memoryKiB': {
    value: 64 * KiB,
    minimum: 19 * KiB,
    maximum: 4 * 1024 * KiB,
    unit: 'KiB',
    reason:
      'argon2id memory; the floor is OWASP’s. Raised settings reach a credential at its next good login.'
  },
  'auth.argon2.passes': {
    value: 2,
    minimum: 2,
    maximum: 100,
    unit: 'passes',
    reason: 'argon2id time cost.'
  },
  'auth.argon2.parallelism': {
    value: 1,
    minimum: 1,
    maximum: 16,
    unit: 'lanes',
    reason: 'One lane: logins of different users already fill the cores.'
  },
  'auth.concurrency': {
    value: 0,
    minimum: 0,
    maximum: 64,
    unit: 'derivations',
    reason:
      'argon2 at once; 0 means one for each core. They share libuv’s pool with the disk syncs.'
  },
  'auth.queueLength': {
    value: 1000,
    minimum: 1,
    maximum: 100_000,
    unit: 'logins',
    reason:
      'Logins that may wait for argon2; one more is told to come back, so a storm stays bounded.'
  },
  'auth.repeatLoginCache': {
    value: true,
    unit: '',
    reason:
      'While a mailbox is open, the same credential again is checked by a keyed hash in memory, not argon2.'
  },

  'audit.days': {
    value: 365,
    minimum: 1,
    maximum: 36_500,
    unit: 'days',
    reason: 'How long security events are kept; export them before, if they are wanted for longer.'
  },
  'audit.maxEvents': {
    value: 1_000_000,
    minimum: 1000,
    maximum: 1_000_000_000,
    unit: 'events',
    reason:
      'Beyond so many (some 150 MB in the directory), the tenant that has most, or the host, loses its oldest events, however young: strangers’ failures would fill the disk otherwise. Events of backups and deletions of accounts stay besides.'
  },

  'limits.exemptAddresses': {
    value: ['127.0.0.1', '::1'],
    unit: 'addresses',
    format: 'block',
    reason:
      'Addresses or CIDR blocks from which connections and commands are not counted by address, and wrong passwords not at all: webmail and proxies on this host speak for many users.'
  },
  'limits.commandsPerMinutePerAccount': {
    value: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    unit: 'commands/min',
    reason:
      'All sessions of an account together; whoever gives more is slowed down to it. 0: no limit.'
  },
  'limits.commandsPerMinutePerAddress': {
    value: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    unit: 'commands/min',
    reason:
      'The same for an address (IPv6: a /64); each worker grants its share. 0: no limit. An office is one address.'
  },
  'limits.bytesPerMinutePerAccount': {
    value: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'bytes/min',
    reason:
      'In both directions, before compression. A new device fetches a whole mailbox: a low figure makes that take days. 0: no limit.'
  },
  'limits.bytesPerMinutePerAddress': {
    value: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'bytes/min',
    reason: 'The same for an address. 0: no limit.'
  },
  'limits.memoryBytes': {
    value: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    reason:
      'A process with more resident memory than this takes no new sessions and deliveries until it has a tenth less. 0: four fifths of the machine’s or the container’s memory, divided by the workers.'
  },
  'limits.memoryReserveBytes': {
    value: 128 * MiB,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    reason:
      'Nor while the machine, or the container where it has a limit, has less memory than this left, whoever uses it: before it swaps or kills. A quarter of its memory at most. 0: not looked at.'
  },
  'limits.eventLoopDelayMs': {
    value: 2000,
    minimum: 0,
    maximum: 10 * minuteMs,
    unit: 'ms',
    reason: 'Nor while the event loop is this late, three seconds in a row. 0: not looked at.'
  },

  'storage.cipher': {
    value: 'chacha20',
    choices: ['chacha20', 'aegis-256'],
    unit: '',
    reason:
      'For new mailboxes; both authenticate each page. aegis-256 is 2 to 5 times faster with AES-NI.'
  },
  'storage.tempStore': {
    value: 'auto',
    choices: ['auto', 'disk', 'memory'],
    unit: '',
    reason:
      'SQLite’s temporary files hold mail in the clear: auto keeps them in memory unless their folder is on an encrypted device.'
  },
  'storage.secureDelete': {
    value: 'on',
    choices: ['on', 'fast'],
    unit: '',
    reason:
      'on overwrites deleted mail in the file; fast (1.8 to 4 times quicker deletes) only where it costs no extra write.'
  },
  'storage.cacheBytes': {
    value: 8 * MiB,
    minimum: 64 * KiB,
    maximum: 1024 * MiB,
    unit: 'bytes',
    reason:
      'SQLite’s page cache for each open mailbox, at most; it fills as the mailbox is used. Where it does not hold the inner pages of the b-trees, reading a message at random takes up to twice the time: 60,000 messages need 4 MiB, 100,000 8 MiB (a sixth to a quarter faster than with 4).'
  },
  'storage.readerCacheBytes': {
    value: 128 * MiB,
    minimum: 64 * KiB,
    maximum: 1024 * MiB,
    unit: 'bytes',
    reason:
      'The same for a mailbox of which 1,000 messages were read or listed since it was opened, while the total has room. What stays need not be decrypted again: to list 100,000 messages once more takes a fifth less time than with 64 MiB, and where 2,000 of them are read again and again, half as many more are read in the same time. Whoever only writes would fill it with what nobody reads.'
  },
  'storage.totalCacheBytes': {
    value: 256 * MiB,
    minimum: 1 * MiB,
    maximum: 1024 * 1024 * MiB,
    unit: 'bytes',
    reason:
      'For the page caches of all open mailboxes of a process together, and an eighth of the machine’s or the container’s memory at most: with many open, each gets less, 256 KiB at least, and one that has not been used for 10 s 128 KiB: what it leaves is for those at work.'
  },
  'storage.chunkCacheBytes': {
    value: 8 * MiB,
    minimum: 0,
    maximum: 1024 * MiB,
    unit: 'bytes',
    reason:
      'Unpacked pieces of long messages that mail programs are reading bit by bit, of all mailboxes together: up to 128 KiB for each reader; half of the cache may hold 1 MiB each that is read ahead for some of them.'
  },
  'storage.idleViewBytes': {
    value: 64 * MiB,
    minimum: 0,
    maximum: 1024 * 1024 * MiB,
    unit: 'bytes',
    reason:
      'Numbers and flags of mailboxes that were closed and may well be opened again, of all accounts together: 21 bytes a message, 37 where lists or bodies of it were read, 4 to 8 more for each key by which it was sorted, and some 40 more where it was threaded. To load 100,000 of them anew takes some 30 ms, to sort or thread them anew 50 to 300.'
  },
  'storage.searchThreads': {
    value: 8,
    minimum: 1,
    maximum: 1000,
    unit: 'threads',
    reason:
      'Threads for searches that read many messages or much of the index: at most so many in a process, one for each mailbox. A thread takes some 40 MB, and stays for 30 s after its last search. Where one more is needed, the one without work for longest ends; where all are at work, a search waits until one of them is done or has worked for 5 s.'
  },
  'storage.sleepAfterMs': {
    value: 5 * minuteMs,
    minimum: 0,
    maximum: 1440 * minuteMs,
    unit: 'ms',
    reason:
      'The file of a mailbox that nobody has read or written for so long is closed; its sessions stay, and their next command opens it in some milliseconds. 0: it stays open.'
  },
  'storage.maxOpenFiles': {
    value: 1000,
    minimum: 1,
    maximum: 1_000_000,
    unit: 'files',
    reason:
      'With more mailboxes in use than this, the files of those longest unused are closed at once. Each open file takes five descriptors and its page cache, and the cipher’s library goes through a list of all open files for each overflow page that it reads (docs/scale.md).'
  },
  'storage.busyTimeoutMs': {
    value: 30_000,
    minimum: 100,
    maximum: 10 * minuteMs,
    unit: 'ms',
    reason: 'How long a write waits for another process’s lock, without blocking anybody else.'
  },
  'storage.checkpointBytes': {
    value: 4 * MiB,
    minimum: 64 * KiB,
    maximum: 1024 * MiB,
    unit: 'bytes',
    reason:
      'A write-ahead log larger than this is checkpointed in a thread; on the main thread it would stall 70 ms.'
  },

  'backup.isNightly': {
    value: true,
    unit: '',
    reason:
      'Whether the server runs the nightly job in a child process, once `backup init` has been done; under PM2 it never does.'
  },
  'backup.hour': {
    value: 3,
    minimum: 0,
    maximum: 23,
    unit: 'hour, UTC',
    reason: 'When the nightly job begins, at the earliest.'
  },
  'backup.cron': {
    value: '',
    unit: 'cron expression, UTC',
    format: 'cron',
    reason:
      'When the job begins, at the earliest, instead of each night: minute, hour, day, month, weekday. `0 3,15 * * *` is twice a day.'
  },
  'backup.jitterMinutes': {
    value: 60,
    minimum: 0,
    maximum: 12 * 60,
    unit: 'minutes',
    reason: 'It begins at a random moment within this time, so that a fleet does not all at once.'
  },
  'backup.folder': {
    value: '',
    unit: 'folder',
    format: 'path',
    reason:
      'Where backups go. Empty: <data>/backup, which protects from mistakes but not from the loss of the disk.'
  },
  'backup.s3.bucket': {
    value: '',
    unit: '',
    reason:
      'Backups go to this bucket instead of a folder. Credentials come from the environment, ~/.aws or the machine’s role.'
  },
  'backup.s3.prefix': {
    value: '',
    unit: '',
    reason: 'Before every object’s name; each host needs one of its own in a shared bucket.'
  },
  'backup.s3.endpoint': {
    value: '',
    format: 'url',
    unit: 'URL',
    reason: 'Of an S3-compatible server; empty means Amazon’s.'
  },
  'backup.s3.region': {
    value: 'us-east-1',
    unit: '',
    reason: 'Many other servers take any.'
  },
  'backup.s3.isPathStyle': {
    value: false,
    unit: '',
    reason: 'The bucket in the path instead of the host name, as many self-hosted servers need.'
  },
  'backup.keepDaily': {
    value: 7,
    minimum: 1,
    maximum: 3650,
    unit: 'days',
    reason: 'The last backup of each of so many days is kept.'
  },
  'backup.keepWeekly': {
    value: 4,
    minimum: 0,
    maximum: 520,
    unit: 'weeks',
    reason: 'Besides, the last of each of so many weeks (ISO 8601).'
  },
  'backup.keepMonthly': {
    value: 12,
    minimum: 0,
    maximum: 120,
    unit: 'months',
    reason: 'Besides, the last of each of so many months.'
  },
  'backup.eraseDeletedAfterDays': {
    value: 7,
    minimum: 0,
    maximum: 3650,
    unit: 'days',
    reason:
      'The keys of a deleted account leave every backup at the first run after this long; until then the account can come back.'
  },
  'backup.diskBytesPerSecond': {
    value: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'bytes/s',
    reason: 'How fast mailboxes are read; 0 means no limit.'
  },
  'backup.networkBytesPerSecond': {
    value: 0,
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    unit: 'bytes/s',
    reason: 'How fast object storage is written and read; 0 means no limit.'
  },
  'backup.rehearsalAccounts': {
    value: 3,
    minimum: 0,
    maximum: 10_000,
    unit: 'accounts',
    reason:
      'So many accounts, chosen at random, are restored into a scratch folder each night, and checked.'
  },

  'log.level': {
    value: 'info',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    unit: '',
    reason: 'JSON lines on standard error. info names no address, mailbox, subject or key.'
  },
  'shutdown.graceMs': {
    value: 10_000,
    minimum: 0,
    maximum: 10 * minuteMs,
    unit: 'ms',
    reason:
      'How long running commands and deliveries may take after SIGTERM or Ctrl-C before sockets are cut.'
  }
}

/** @typedef {keyof typeof SETTINGS} SettingName */
