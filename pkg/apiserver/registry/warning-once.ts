import type { WriteContext } from './served-resource.ts';
import { withWarn } from './write-context.ts';

/** A new attempt finds the same to warn of. */
export function warningOnce(write: WriteContext): WriteContext {
  const said = new Set<string>();
  const warn = (text: string): void => {
    if (said.has(text)) return;
    said.add(text);
    write.warn(text);
  };
  return withWarn(write, warn);
}
