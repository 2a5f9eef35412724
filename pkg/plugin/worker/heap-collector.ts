import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The key of the collector that the host calls in a busy worker. */
export const collectorKey = 'svc.run/collect-garbage';

/**
 * Lets threads that start from now on expose their collector. Call it in the host's thread before it starts any: the
 * flag applies to the whole process, and is never reset, because other code may read it.
 */
export function allowCollectors(): void {
  setFlagsFromString('--expose-gc');
}

/** Makes this thread's garbage collector callable for us and the host, and hides it from the plugin. */
export function exposeCollector(): () => void {
  const collect = runInNewContext('gc') as () => void;
  // The flag defines a visible `gc` that cannot be deleted.
  Object.assign(globalThis, { gc: undefined });
  Object.defineProperty(globalThis, Symbol.for(collectorKey), { value: collect });
  return collect;
}
