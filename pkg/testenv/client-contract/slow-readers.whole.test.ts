import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client, EventStream } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { transports, type OpenTransport } from './transport.ts';
import { newNote, noteType, prepareContract, type Note } from './note-model.ts';

const count = 10_500;
/** More than the buffers of both ends hold, so that unbounded buffering is detected. */
const text = 'x'.repeat(2_000);

let env: TestEnv;
let open: OpenTransport[] = [];
let start: string;
let streams: EventStream<Note>[];
let revisions: number[];

beforeAll(async () => {
  env = await startTestEnv();
  await prepareContract(env);
  open = transports.map((transport) => transport.open({ env }));
  const { client } = env.servers[0]!;
  start = (await client.list(noteType, { limit: 1 })).resourceVersion;
  streams = await Promise.all(open.map((transport) => transport.client.watch(noteType, { resourceVersion: start })));
  revisions = await writeMany(client);
});

afterAll(async () => {
  for (const transport of open) transport.dispose();
  await env?.stop();
});

/** Creates a few objects and changes them in turn; returns the revisions in order. */
async function writeMany(client: Client): Promise<number[]> {
  const written: number[] = [];
  const lanes = Array.from({ length: 100 }, async (_, lane) => {
    const name = `lane-${lane}`;
    const { metadata } = await client.create(noteType, newNote('default', name, { text, rank: 0 }));
    written.push(Number(metadata.resourceVersion));
    for (let i = 1; i < count / 100; i += 1) {
      const changed = await client.patch(
        noteType,
        { namespace: 'default', name },
        { type: 'merge', patch: { spec: { rank: i } } },
      );
      written.push(Number(changed.metadata.resourceVersion));
    }
  });
  await Promise.all(lanes);
  return written.toSorted((a, b) => a - b);
}

test.each(transports.map(({ name }, i) => [name, i] as const))(
  'a reader that paused for 10 500 events gets all of them, in order: %s',
  async (_name, i) => {
    const { client } = open[i]!;
    const seen: number[] = [];
    let position = start;
    let ends = 0;
    for (
      let stream = streams[i]!;
      seen.length < count;
      stream = await client.watch(noteType, { resourceVersion: position })
    ) {
      for await (const event of stream) {
        position = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
        if (event.type !== 'BOOKMARK') seen.push(Number(position));
        if (seen.length === count) break;
      }
      if (seen.length < count) ends += 1;
    }
    expect(seen).toEqual(revisions);
    // The events were not buffered for the reader: its stream had ended.
    expect(ends).toBeGreaterThan(0);
  },
);
