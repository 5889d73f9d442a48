/**
 * Loaded before a program (`node --import`), so that its clock begins at LETTERLOCK_TEST_NOW_MS and runs on from there.
 */
const now = Date.now
const offsetMs = Number(process.env['LETTERLOCK_TEST_NOW_MS']) - now()
Date.now = () => now() + offsetMs
