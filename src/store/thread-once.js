/**
 * The thread of a process of its own: it does the one job that it was started with.
 */
import { workerData } from 'node:worker_threads'
import { answerThreadJob } from './thread-job.js'

await answerThreadJob(workerData)
