import type { WireRequest } from '../harness/wire/wire-request.ts';
import type { FuzzCase } from './fuzz-case.ts';

/** Trials for one finding; each sends one or a few requests. */
const maxTrials = 300;

/**
 * The smallest case that still fails, reached by removing requests, headers, parameters and bytes. `fails` runs a
 * candidate; it must fail with the same kind of violation.
 */
export async function shrinkCase(
  failing: FuzzCase,
  fails: (candidate: FuzzCase) => Promise<boolean>,
): Promise<FuzzCase> {
  let best = failing;
  let trials = 0;
  const attempt = async (requests: WireRequest[]): Promise<boolean> => {
    if (trials >= maxTrials) return false;
    trials += 1;
    const candidate = { ...best, requests };
    if (!(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (let at = best.requests.length - 1; at >= 0; at -= 1)
    if (best.requests.length > 1) await attempt(best.requests.filter((_, each) => each !== at));
  for (let at = 0; at < best.requests.length; at += 1) {
    const replace = (change: Partial<WireRequest>): Promise<boolean> =>
      attempt(best.requests.map((request, each) => (each === at ? { ...request, ...change } : request)));
    const current = (): WireRequest => best.requests[at]!;
    await shrinkList(
      () => current().headers,
      (headers) => replace({ headers }),
    );
    const [path, ...rest] = current().target.split('?');
    if (rest.length > 0)
      await shrinkList(
        () =>
          current()
            .target.slice(path!.length + 1)
            .split('&'),
        (parameters) =>
          replace({ target: [path, ...(parameters.length === 0 ? [] : [parameters.join('&')])].join('?') }),
      );
    if (current().body !== undefined)
      await shrinkBytes(
        () => current().body!,
        (body) => replace({ body }),
      );
    if (current().raw !== undefined)
      await shrinkBytes(
        () => Buffer.concat(current().raw!),
        (bytes) => replace({ raw: [bytes] }),
      );
  }
  return best;
}

async function shrinkList<T>(read: () => readonly T[], write: (items: T[]) => Promise<boolean>): Promise<void> {
  for (let at = read().length - 1; at >= 0; at -= 1) await write(read().filter((_, each) => each !== at));
}

/** Removes halves, quarters and so on, from the end. */
async function shrinkBytes(read: () => Buffer, write: (bytes: Buffer) => Promise<boolean>): Promise<void> {
  for (let size = read().length >> 1; size >= 1; size >>= 1) {
    for (let at = read().length - size; at >= 0; at -= size) {
      const bytes = read();
      await write(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + size)]));
    }
  }
}
