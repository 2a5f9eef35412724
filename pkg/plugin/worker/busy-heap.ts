import { Session } from 'node:inspector';
import { collectorKey } from './heap-collector.ts';

/** For each answer. Milliseconds. */
const answerMs = 5000;
/** So much above the limit is no garbage that waits to be collected: MiB. */
const certain = 512;

/**
 * The heap of a thread that does not answer, in MiB, or undefined where that cannot be found out. The inspector
 * interrupts whatever the thread does, which nothing else in this Node can. Above `limitMiB` the garbage is collected
 * first.
 */
export async function heapOfBusyThread(threadId: number, limitMiB: number): Promise<number | undefined> {
  const session = new Session();
  try {
    session.connect();
    const ask = await attach(session, threadId);
    const used = usedMiB(await ask('Runtime.getHeapUsage'));
    if (used === undefined || used <= limitMiB || used > limitMiB + certain) return used;
    await ask('Runtime.evaluate', { expression: `globalThis[Symbol.for('${collectorKey}')]?.()`, silent: true });
    return usedMiB(await ask('Runtime.getHeapUsage'));
  } catch {
    // It ended meanwhile, or somebody else holds the inspector.
    return undefined;
  } finally {
    session.disconnect();
  }
}

type Ask = (method: string, params?: object) => Promise<unknown>;

/** The domain of workers is missing in Node's types. */
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
        // The title begins so; the ids are the session's own.
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
