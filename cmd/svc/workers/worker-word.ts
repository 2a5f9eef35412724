/** The command line of a worker, which only its parent process writes. */
export const workerWord = 'worker';
