/**
 * What a process of this program is started with, besides its settings. Read by src/main.js, which starts itself anew with
 * these, and by ecosystem.config.js, because a worker of PM2 cannot do so. Must load on Node 18.
 */

/**
 * fdatasync, argon2 and zlib share libuv's pool, which is read from the environment before the first use:
 * with the default of four threads, four logins would hold up every acknowledgement.
 */
export const THREAD_POOL_SIZE = '16'

/**
 * glibc's allocator gives memory back late and gives each of the pool's threads an arena of its own. With these variables an
 * idle TLS connection costs some 50 kB instead of 74; other C libraries ignore them.
 *
 * MMAP_THRESHOLD: what is larger costs system calls and page faults each time. With 12 KiB, below most messages, 200 clients
 * took a tenth more processor time than with 32. With 36 or more, the heap keeps the pieces of 32 KiB that V8's compilers
 * take: 200 clients took another tenth less in their first half minute, but an idle connection cost 28 kB instead of 23, and
 * it may cost at most 25 KiB. MMAP_MAX: half of what Linux allows a process (vm.max_map_count).
 * TOP_PAD and TRIM_THRESHOLD: with 128 KiB and 1 MiB, an idle compressed TLS connection cost more than the 90 kB that it may,
 * and so it did in huge pages (glibc.malloc.hugetlb).
 */
export const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: String(64 * 1024),
  MALLOC_TOP_PAD_: String(16 * 1024),
  MALLOC_MMAP_THRESHOLD_: String(32 * 1024),
  MALLOC_MMAP_MAX_: String(32 * 1024)
}

/**
 * SIGUSR1 would open the inspector, and with it every key in memory, to anybody who may signal the process.
 * V8 lets the young generation grow with the machine's memory; on a large machine, less than its default costs little time
 * here and saves a busy server a hundred megabytes.
 *
 * The young generation begins with half of what it may have: it grows only after much has outlived it, and until then most
 * of what a command makes is copied around. 200 clients took 5 % less processor time with 8 or 16 MiB, and 4 with 4, than
 * with the 1 MiB that V8 begins with; a command of the command line, which loads some 400 modules, takes a tenth less.
 * src/main.js takes the flag back before the first thread starts, because each would begin with as much.
 *
 * Flags that count in V8's code cache (most do) must not be among these: Node's own modules would be compiled anew in each
 * process, which takes a seventh of a short command.
 */
export const NODE_FLAGS = [
  '--disable-sigusr1',
  '--max-semi-space-size=16',
  '--min-semi-space-size=8'
]

/**
 * Left to itself V8 marks a heap of 30 MB again whenever 8 MB were added, buffers of messages among them: three times a
 * second while eight users append, which takes a tenth of two cores. If the heap may double before it is marked, that costs a
 * quarter. Set only in a running process (a server that has started), because the flag counts in the code cache.
 */
export const GROWTH_FLAG = '--heap-growing-percent=100'

/** A command sets GROWTH_FLAG so long after its start, ms: if it still runs then, it has loaded what it needs. */
export const GROWTH_AFTER_MS = 3000

/**
 * Flags of a server: the code of Node itself lies in huge pages, where the system has them. Requests of many clients run
 * through more of that code than the processor has addresses of small pages at hand (TLB): 200 clients took 8 to 10 % less
 * processor time. It costs 40 ms at the start, and 25 MB that processes do not share. While Node moves its code there, before
 * any of ours runs, a signal ends it with SIGSEGV (17 of 150 stops within the first 150 ms; none without this flag): nothing
 * is open yet at that time.
 */
export const SERVER_FLAGS = [...NODE_FLAGS, '--use-largepages=silent']

/**
 * Flags that a server sets once it has started: what a start does once is not worth compiling.
 *
 * V8 optimises a function after 3,000 calls, and begins to count again whenever its code has met something new. What runs a
 * few times for each command came to that after 10,000 commands, or never. With these flags it takes some 2,000, and from
 * then on a message read at random costs a seventh less processor time, a STORE a fifth. Many functions are compiled sooner
 * so, which would hold up the first second's commands: hence only one thread compiles.
 */
export const COMPILER_FLAGS = [
  '--invocation-count-for-maglev=100',
  '--invocation-count-for-turbofan=600',
  '--minimum-invocations-after-ic-update=100',
  '--concurrent-turbofan-max-threads=1'
]

/**
 * Exit code of a worker that PM2 has started for the first time and that cannot begin (EX_CONFIG of sysexits.h). One that
 * has been at work and cannot begin again ends with 1, and is tried again.
 */
export const NOT_STARTED = 78

/**
 * What PM2 and its workers are started with.
 *
 * @param {string} data - the data folder
 * @param {NodeJS.ProcessEnv} [environment]
 * @returns {NodeJS.ProcessEnv & { PM2_HOME: string }}
 */
export function clusterEnvironment(data, environment = process.env) {
  return {
    ...ALLOCATOR,
    PM2_HOME: `${data}/pm2`,
    ...environment,
    UV_THREADPOOL_SIZE: THREAD_POOL_SIZE,
    // Workers accept connections themselves. If the daemon handed them out, a connection on its way to a worker that dies
    // would stay open in the daemon, and its client would wait for a greeting for ever.
    NODE_CLUSTER_SCHED_POLICY: 'none',
    // PM2 would reload two at a time: of three workers, one would be left for everybody, and two would start at the same moment.
    PM2_CONCURRENT_ACTIONS: '1',
    PM2_DISABLE_VERSION_CHECK: 'true'
  }
}

/** Settings, and what the S3 client reads (proxies too): these belong to a worker, and the next one may have others. */
const SETTING = /^(LETTERLOCK|AWS)_|^(https?|no)_proxy$|^(HTTPS?|NO)_PROXY$/

/**
 * What the daemon of PM2 is started with: all but settings. A worker has the daemon's variables below its own, so a variable
 * that was removed since would come back in each new worker.
 *
 * @param {NodeJS.ProcessEnv} environment - of `clusterEnvironment`
 * @returns {NodeJS.ProcessEnv}
 */
export const daemonEnvironment = (environment) =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !SETTING.test(name)))
