import { types } from 'node:util';
import { KeyContext } from './key-context.ts';
import type { KeyAnswer, KeyProblem, KeyRequest } from './key-messages.ts';
import { KeyWatchdog } from './key-watchdog.ts';

/** Limit of loaded scripts. */
const maxContexts = 50;
/** Objects per run of a script: each run costs a fifteenth of a millisecond. */
const maxPieceObjects = 16;
/** Approximate limit of a run, in bytes of JSON. */
const maxPieceLength = 64 * 1024;
/** Time to retry an object whose functions did not get their CPU time. Milliseconds. */
const retryTimeoutMs = 5000;

const watch = new KeyWatchdog(Number(process.argv[2]));
const contexts = new Map<string, KeyContext>();

type Evaluation = Extract<KeyRequest, { kind: 'evaluate' }>;

process.on('message', (request: KeyRequest) => {
  const answer: KeyAnswer =
    request.kind === 'check'
      ? { id: request.id, kind: 'check', problems: check(request.text, request.functions) }
      : evaluate(request);
  process.send?.(answer);
});
// The process ends with the server. It ignores signals to the whole terminal: the server handles them, and may have
// running writes.
process.on('disconnect', () => process.exit());
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
// Ignores rejected promises that functions left behind: they must not end the process for others.
process.on('unhandledRejection', () => {});
void watch.begin().then(() => process.send?.('ready'));

function check(text: string, functions: readonly string[]): KeyProblem[] {
  try {
    return new KeyContext(text, watch.within).load(functions);
  } catch (error) {
    return [{ message: messageOfError(error) }];
  }
}

/** The message of an error, perhaps of a script's own scope: read without running any of its code. */
function messageOfError(error: unknown): string {
  if (isTimeout(error)) return 'it takes too long';
  const message: unknown = types.isNativeError(error)
    ? Object.getOwnPropertyDescriptor(error, 'message')?.value
    : undefined;
  return typeof message === 'string' ? message.slice(0, 300) : 'it cannot be read';
}

function evaluate(request: Evaluation): KeyAnswer {
  const { id, kind, objects, calls, limits } = request;
  const context = contextOf(request);
  if (context === undefined) return { id, kind };
  const end = performance.now() + limits.batchMs;
  const rows: string[] = [];
  let size = maxPieceObjects;
  while (rows.length < objects.length && (rows.length === 0 || performance.now() < end)) {
    const piece = firstPiece(objects, rows.length, size);
    const done = runPiece(context, { calls, piece, limits });
    // One of them takes too long: from now on each runs alone, so that the right one is blamed.
    if (done === undefined) size = 1;
    else rows.push(...done);
  }
  return { id, kind, rows };
}

/** Undefined if several took too long together. */
function runPiece(
  context: KeyContext,
  { calls, piece, limits }: Pick<Evaluation, 'calls' | 'limits'> & { piece: readonly string[] },
): string[] | undefined {
  const input = JSON.stringify({ calls, objects: piece });
  const timeoutMs = Math.ceil(limits.objectMs + input.length / 10_000);
  // The machine may be busy, so a single object is retried until it has had its time; only CPU time counts.
  const deadline = performance.now() + retryTimeoutMs;
  let usedMs = 0;
  for (let tries = 0; ; tries += 1) {
    const before = process.cpuUsage();
    try {
      return context.run(input, timeoutMs);
    } catch (error) {
      if (piece.length > 1) return undefined;
      const { user, system } = process.cpuUsage(before);
      usedMs += (user + system) / 1000;
      const isSlow = isTimeout(error);
      if (isSlow && (tries === 0 || (usedMs < timeoutMs && performance.now() < deadline))) continue;
      const fault = isSlow
        ? `its functions ran longer than ${timeoutMs} ms`
        : `its functions could not be run: ${messageOfError(error)}`;
      return [JSON.stringify(calls.map(() => ({ f: fault })))];
    }
  }
}

function firstPiece(objects: readonly string[], from: number, count: number): string[] {
  const piece: string[] = [];
  let length = 0;
  for (
    let i = from;
    i < objects.length && piece.length < count && (piece.length === 0 || length + objects[i]!.length <= maxPieceLength);
    i += 1
  ) {
    piece.push(objects[i]!);
    length += objects[i]!.length;
  }
  return piece;
}

function contextOf({ hash, text }: Evaluation): KeyContext | undefined {
  const context = contexts.get(hash) ?? (text === undefined ? undefined : new KeyContext(text, watch.within));
  if (context === undefined) return undefined;
  contexts.delete(hash);
  contexts.set(hash, context);
  if (contexts.size > maxContexts) contexts.delete(contexts.keys().next().value!);
  return context;
}

function isTimeout(error: unknown): boolean {
  return (
    types.isNativeError(error) &&
    Object.getOwnPropertyDescriptor(error, 'code')?.value === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  );
}
