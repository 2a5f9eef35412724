import { expect, test } from '@jest/globals';
import type { Client } from '#pkg/apimachinery/index';
import { ChannelSource, Manager, type ControllerDefinition, type Log, type Source } from '../index.ts';

function definitionOf(name: string, source: Source, look: () => void = () => undefined): ControllerDefinition {
  return { name, watches: [], indexes: [], tuning: {}, begin: () => ({ sources: [source], reconcile: async () => look() }) };
}

test('a controller whose source cannot start is told of, and leaves the others and the stop alone', async () => {
  const told: string[] = [];
  const error = (_details: object, message: string): void => void told.push(message);
  const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error };
  const channel = new ChannelSource();
  const sound: Source = {
    start: async (enqueue) => {
      await channel.start(enqueue);
      channel.push({ namespace: '', name: 'a' });
      return true;
    },
    stop: () => channel.stop(),
  };
  let tell = (): void => undefined;
  const looked = new Promise<void>((resolve) => (tell = resolve));
  const broken: Source = { start: () => Promise.reject(new Error('broken')), stop: () => undefined };
  const manager = new Manager({ client: {} as Client, log, controllers: [definitionOf('broken', broken), definitionOf('sound', sound, tell)] });
  manager.start();
  await looked;
  await manager.stop();
  expect(told).toEqual(['a controller could not start, and does not run in this turn']);
});
