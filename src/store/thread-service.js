/**
 * A thread of store-threads.js: it does one job after the other, for one mailbox after the other.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { stepBack } from '../support/step-back.js'
import { answerThreadJob } from './thread-job.js'

if (workerData.isBackground) stepBack()
parentPort?.on('message', answerThreadJob)
