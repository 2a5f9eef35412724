#!/usr/bin/env node
import cluster from 'node:cluster';
import { workerWord } from './workers/worker-word.ts';

try {
  const args = process.argv.slice(2);
  // Each loads its code when it runs: a worker has no command line.
  const run =
    cluster.isWorker && args[0] === workerWord
      ? (await import('./workers/run-worker.ts')).runWorker()
      : (await import('./commands/command-line.ts')).runCommandLine(args, process.env);
  process.exit(await run);
} catch (error) {
  const { explainStartFailure } = await import('./process/start-failure.ts');
  const sentence = explainStartFailure(error);
  const stack = error instanceof Error ? error.stack : String(error);
  process.stderr.write(`svc: ${sentence ?? `The start failed, which is a fault of this program:\n${stack}`}\n`);
  process.exit(1);
}
