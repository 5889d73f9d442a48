/** The object that says whose backups are there; see repository.js. A place without it is none of ours. */
export const MARKER = 'letterlock-backup.json'
