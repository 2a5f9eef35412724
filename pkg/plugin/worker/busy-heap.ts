import { Session } from 'node:inspector';
import { collectorKey } from './heap-collector.ts';

/** Timeout of each answer. Milliseconds. */
const answerMs = 5000;
/** Usage this far above the limit cannot be uncollected garbage alone. MiB. */
const garbageAllowanceMiB = 512;

/**
 * The heap of a thread that does not respond, in MiB, or undefined if it cannot be read. Only the inspector can
 * interrupt such a thread in this Node. Above `limitMiB` it collects garbage first.
 */
export async function heapOfBusyThread(threadId: number, limitMiB: number): Promise<number | undefined> {
  const session = new Session();
  try {
    session.connect();
    const ask = await attach(session, threadId);
    const used = usedMiB(await ask('Runtime.getHeapUsage'));
    if (used === undefined || used <= limitMiB || used > limitMiB + garbageAllowanceMiB) return used;
    await ask('Runtime.evaluate', { expression: `globalThis[Symbol.for('${collectorKey}')]?.()`, silent: true });
    return usedMiB(await ask('Runtime.getHeapUsage'));
  } catch {
    // The thread ended meanwhile, or another debugger holds the inspector.
    return undefined;
  } finally {
    session.disconnect();
  }
}

type Ask = (method: string, params?: object) => Promise<unknown>;

/** Node's types lack the inspector's NodeWorker domain. */
interface WorkerSession {
  on(
    event: 'NodeWorker.attachedToWorker',
    listener: (message: { params: { sessionId: string; workerInfo: { title: string } } }) => void,
  ): void;
  on(
    event: 'NodeWorker.receivedMessageFromWorker',
    listener: (message: { params: { sessionId: string; message: string } }) => void,
  ): void;
  post(method: string, params: object): void;
}

async function attach(session: Session, threadId: number): Promise<Ask> {
  const workers = session as unknown as WorkerSession;
  const waiting = new Map<number, (result: unknown) => void>();
  const sessionId = await within(
    new Promise<string>((resolve) => {
      workers.on('NodeWorker.attachedToWorker', ({ params }) => {
        // Match by the title's prefix, because the session has its own ids.
        if (params.workerInfo.title.startsWith(`[worker ${threadId}]`)) resolve(params.sessionId);
      });
      workers.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
        const { id, result } = JSON.parse(params.message) as { id?: number; result?: unknown };
        if (id !== undefined) waiting.get(id)?.(result);
      });
      workers.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    }),
  );
  return (method, params = {}) =>
    within(
      new Promise((resolve) => {
        const id = waiting.size + 1;
        waiting.set(id, resolve);
        workers.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify({ id, method, params }) });
      }),
    );
}

async function within<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      answer,
      new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error('the inspector did not answer')), answerMs).unref();
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

function usedMiB(usage: unknown): number | undefined {
  const { usedSize } = (usage ?? {}) as { usedSize?: unknown };
  return typeof usedSize === 'number' ? usedSize / 2 ** 20 : undefined;
}
