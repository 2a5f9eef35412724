import { OperatorError } from '../options/operator-error.ts';

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs a long command. The first SIGINT or SIGTERM aborts its signal, so that it undoes its work, and sets the exit
 * code; a second one ends the process.
 */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const controller = new AbortController();
  let code: number | undefined;
  const onSignal = (signal: 'SIGINT' | 'SIGTERM'): void => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    code = exitCodes[signal];
    controller.abort(new OperatorError(`Ended by ${signal}.`));
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    return await work(controller.signal);
  } catch (error) {
    if (code === undefined) throw error;
    process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
    return code;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
}
