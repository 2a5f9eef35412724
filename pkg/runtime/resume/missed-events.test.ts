import { expect, test } from '@jest/globals';
import { newExpired, newServiceUnavailable, type AnyObject, type ClientEvent } from '#pkg/apimachinery/index';
import { ScriptedApi, scriptedObject, scriptedType, type ScriptedWatch } from '../cache/scripted-api.ts';
import { MissedEvents } from './missed-events.ts';

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const changed = (revision: number): ClientEvent<AnyObject> => ({
  type: 'MODIFIED',
  object: scriptedObject(`n-${revision}`, revision),
});
const bookmark = (revision: number): ClientEvent<AnyObject> => ({
  type: 'BOOKMARK',
  resourceVersion: String(revision),
});

/** The events from revision 2 to 5. */
async function missed(
  ...watches: ScriptedWatch[]
): Promise<{ received: string[]; asked: string[]; open: number; revision: bigint | undefined }> {
  const api = new ScriptedApi({ watches });
  const received: string[] = [];
  let events: MissedEvents | undefined;
  await new Promise<void>((resolve) => {
    events = new MissedEvents({
      client: api.client,
      type: scriptedType,
      selection: {},
      from: 1n,
      upTo: 5n,
      onEvent: (event) => received.push(event.object.metadata.name),
      onEnd: (isExpired) => {
        received.push(isExpired ? 'expired' : 'all');
        resolve();
      },
      log,
    });
  });
  await events!.stop();
  return { received, asked: api.asked, open: api.open, revision: events!.revision };
}

test('it ends at the last revision, and its watch is closed', async () => {
  expect(await missed({ events: [changed(3), changed(5), changed(6)], end: 'open' })).toEqual({
    received: ['n-3', 'n-5', 'all'],
    asked: ['1'],
    open: 0,
    revision: undefined,
  });
});

test('it ends without reporting what comes after the last revision: the cache reports that', async () => {
  expect((await missed({ events: [changed(3), changed(6)], end: 'open' })).received).toEqual(['n-3', 'all']);
});

test('it ends with a bookmark at the last revision', async () => {
  expect((await missed({ events: [changed(3), bookmark(5)], end: 'open' })).received).toEqual(['n-3', 'all']);
});

test('a watch that ends is resumed where it ended', async () => {
  const { received, asked } = await missed(
    { events: [changed(2)] },
    { refusal: newServiceUnavailable('away') },
    { events: [bookmark(4)], end: newServiceUnavailable('away') },
    { events: [changed(5)], end: 'open' },
  );
  expect(received).toEqual(['n-2', 'n-5', 'all']);
  expect(asked).toEqual(['1', '2', '2', '4']);
});

test('an expired history ends it, and it holds back no position any more', async () => {
  expect(await missed({ events: [changed(2)], end: newExpired('too old') })).toMatchObject({
    received: ['n-2', 'expired'],
    revision: undefined,
  });
});
