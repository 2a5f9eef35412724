import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '#pkg/apimachinery/index';
import { get, json, type WireRequest } from '../../harness/wire/wire-request.ts';
import type { Answer } from '../../harness/wire/answer.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import type { FuzzCase } from '../fuzz-case.ts';

/** Writes of one object, and reads that must show what was written. */
export function writeAndRead(
  random: SeededRandom,
  { collection, name, writes }: { collection: string; name: string; writes: WireRequest[] },
): Pick<FuzzCase, 'requests' | 'judge'> {
  const one = `fieldSelector=metadata.name%3D${name}`;
  const reads = [get(`${collection}/${name}`), get(`${collection}?${one}`)];
  if (random.chance(0.3)) reads.push({ ...get(`${collection}?watch=true&timeoutSeconds=1&${one}`), stream: true });
  // Of some the next case with this name finds the object.
  const ends = random.chance(0.7) ? removalOf(`${collection}/${name}`) : [];
  return {
    requests: [...writes, ...reads, ...ends],
    judge: (answers) => {
      const read = answers.slice(writes.length, writes.length + reads.length);
      return judgeReads(newestOf(writes, answers), read);
    },
  };
}

function removalOf(target: string): WireRequest[] {
  const release = json('PATCH', target, { metadata: { finalizers: null } });
  return [
    { ...release, headers: [['Content-Type', 'application/merge-patch+json']] },
    { method: 'DELETE', target, headers: [] },
  ];
}

/** What the last write that was carried out was answered with. */
function newestOf(writes: readonly WireRequest[], answers: readonly (Answer | undefined)[]): JsonObject | undefined {
  const isStored = ({ target }: WireRequest, at: number): boolean =>
    !/dryRun=/.test(target) && (answers[at]?.status ?? 500) < 300;
  const last = writes.findLastIndex(isStored);
  return last === -1 ? undefined : objectOf(answers[last]!);
}

/** Another case may have changed or deleted the object meanwhile: only what has its revision must be equal. */
function judgeReads(written: JsonObject | undefined, reads: readonly (Answer | undefined)[]): string | undefined {
  const shown: JsonObject[] = [];
  for (const [at, answer] of reads.entries()) {
    if (answer === undefined || answer.status === 429 || (at === 0 && answer.status === 404)) continue;
    if (answer.status !== 200) return `what is stored cannot be read: ${answer.status}`;
    const values = at === 2 ? eventsOf(answer) : [objectOf(answer)];
    if (values === undefined || values.includes(undefined)) return 'what is stored is read as something else than JSON';
    shown.push(...(values as JsonObject[]).flatMap((value) => (at === 1 ? (value['items'] as JsonObject[]) : [value])));
  }
  const all = written === undefined ? shown : [written, ...shown];
  for (const [at, object] of all.entries()) {
    const other = all.slice(0, at).find((each) => identityOf(each) === identityOf(object));
    if (other !== undefined && !isDeepStrictEqual(other, object))
      return `one revision is read as two objects: ${excerpt(other)} and ${excerpt(object)}`;
  }
  return undefined;
}

function objectOf({ body, complete }: Answer): JsonObject | undefined {
  if (!complete) return undefined;
  try {
    return JSON.parse(body.toString()) as JsonObject;
  } catch {
    return undefined;
  }
}

function eventsOf({ body }: Answer): (JsonObject | undefined)[] {
  const lines = body.toString().split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { object?: JsonObject }).object);
}

function identityOf({ apiVersion, kind, metadata }: JsonObject): string {
  const { uid, resourceVersion } = (metadata ?? {}) as JsonObject;
  return JSON.stringify([apiVersion, kind, uid, resourceVersion]);
}

function excerpt(object: JsonObject): string {
  return JSON.stringify(object).slice(0, 500);
}
