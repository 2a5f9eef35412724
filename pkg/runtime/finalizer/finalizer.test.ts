import { expect, test } from '@jest/globals';
import type { AnyObject, Patch, Stored } from '#pkg/apimachinery/index';
import { scriptedObject, scriptedType } from '../cache/scripted-api.ts';
import { addFinalizer, removeFinalizer } from './finalizer.ts';

function objectWith(finalizers?: string[]): Stored<AnyObject> {
  const object = scriptedObject('n', 7);
  return {
    ...object,
    metadata: { ...object.metadata, namespace: 'a', ...(finalizers === undefined ? {} : { finalizers }) },
  };
}

/** The requests that are sent if the API returns another object. */
async function sentBy(
  change: typeof addFinalizer,
  object: Stored<AnyObject>,
): Promise<{ sent: unknown[]; answer: AnyObject }> {
  const sent: unknown[] = [];
  const patch = (type: unknown, key: unknown, body: Patch): Promise<never> => {
    sent.push(type, key, body);
    return Promise.resolve(scriptedObject('answer', 8) as never);
  };
  return { sent, answer: await change({ patch }, scriptedType, object, 'x.example.com/hold') };
}

/** With the revision that was read, so that a concurrent change of other finalizers is not lost. */
const patchTo = (finalizers: string[]): unknown[] => [
  scriptedType,
  { namespace: 'a', name: 'n' },
  { type: 'merge', patch: { metadata: { resourceVersion: '7', finalizers } } },
];

test.each([
  [undefined, ['x.example.com/hold']],
  [['other.example.com/hold'], ['other.example.com/hold', 'x.example.com/hold']],
])('a finalizer is added after %j', async (before, after) => {
  const { sent, answer } = await sentBy(addFinalizer, objectWith(before));
  expect(sent).toEqual(patchTo(after));
  expect(answer.metadata.name).toBe('answer');
});

test('a finalizer is removed, and others are kept', async () => {
  const { sent } = await sentBy(
    removeFinalizer,
    objectWith(['a.example.com/hold', 'x.example.com/hold', 'b.example.com/hold']),
  );
  expect(sent).toEqual(patchTo(['a.example.com/hold', 'b.example.com/hold']));
});

test('nothing is sent if nothing changes', async () => {
  const held = objectWith(['x.example.com/hold']);
  expect(await sentBy(addFinalizer, held)).toEqual({ sent: [], answer: held });
  const free = objectWith();
  expect(await sentBy(removeFinalizer, free)).toEqual({ sent: [], answer: free });
});
