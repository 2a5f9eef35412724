import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Under this the host asks a busy worker to collect its garbage. */
export const collectorKey = 'svc.run/collect-garbage';

/**
 * Lets threads that begin from now on expose theirs. For the host's thread, before it starts any: the flag is the whole
 * process's, and is never taken back, as others may be looking at it.
 */
export function allowCollectors(): void {
  setFlagsFromString('--expose-gc');
}

/** Makes this thread's garbage collector callable, by us and by the host, and by nobody who does not look for it. */
export function exposeCollector(): () => void {
  const collect = runInNewContext('gc') as () => void;
  // Where everybody would see it, and it cannot be deleted.
  Object.assign(globalThis, { gc: undefined });
  Object.defineProperty(globalThis, Symbol.for(collectorKey), { value: collect });
  return collect;
}
