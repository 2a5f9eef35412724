#!/usr/bin/env node
import { runCommandLine } from './commands/command-line.ts';

try {
  process.exit(await runCommandLine(process.argv.slice(2), process.env));
} catch (error) {
  const { explainStartFailure } = await import('./process/start-failure.ts');
  const sentence = explainStartFailure(error);
  const stack = error instanceof Error ? error.stack : String(error);
  process.stderr.write(`svc: ${sentence ?? `The start failed, which is a fault of this program:\n${stack}`}\n`);
  process.exit(1);
}
