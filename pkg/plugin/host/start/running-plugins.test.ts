import { expect, test } from '@jest/globals';
import { endpointRoute } from '../../endpoint/endpoint-path.ts';
import type { PluginWorker } from '../../worker/plugin-worker.ts';
import { RunningPlugins, type RunningPlugin } from './running-plugins.ts';

interface TestWorker {
  worker: PluginWorker;
  crash: (reason: string) => void;
}

function endpointOf(operationId: string): Parameters<typeof endpointRoute>[0] & { operationId: string } {
  return {
    operationId,
    audience: 'public',
    group: 'blog.example.com',
    version: 'v1',
    method: 'GET',
    path: `/${operationId}`,
  };
}

/** A worker that serves GET endpoints of these names, and records its stop. */
function newWorker(name: string, stopped: string[], operations: readonly string[] = []): TestWorker {
  let crash: (reason: never) => void = () => undefined;
  const worker = {
    description: { endpoints: operations.map(endpointOf) },
    health: {},
    ended: new Promise((resolve) => (crash = resolve)),
    stop: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      stopped.push(name);
    },
  };
  return { worker: worker as unknown as PluginWorker, crash: (reason) => crash(reason as never) };
}

function running(worker: PluginWorker, more: Partial<RunningPlugin> = {}): RunningPlugin {
  return { worker, seen: '', prepared: undefined as never, spec: { version: '1.0.0' }, input: '', since: 0, ...more };
}

const noCrash = (): void => expect('a crash').toBe('none');

test('at the end each plugin stops after its dependents, and none is added afterwards', async () => {
  const stopped: string[] = [];
  const plugins = new RunningPlugins(noCrash);
  await plugins.add('base', running(newWorker('base', stopped).worker));
  await plugins.add(
    'middle',
    running(newWorker('middle', stopped).worker, { spec: { version: '1.0.0', dependencies: { base: '*' } } }),
  );
  await plugins.add(
    'top',
    running(newWorker('top', stopped).worker, { spec: { version: '1.0.0', dependencies: { middle: '*', base: '*' } } }),
  );
  await plugins.end();
  expect(stopped).toEqual(['top', 'middle', 'base']);
  expect(await plugins.add('late', running(newWorker('late', stopped).worker))).toBe(false);
  expect(stopped.at(-1)).toBe('late');
});

test('a plugin that crashes is removed, unless another has replaced it', async () => {
  const crashes: string[] = [];
  const plugins = new RunningPlugins((name, crash) => crashes.push(name, crash as never));
  const [first, second] = [newWorker('first', []), newWorker('second', [])];
  await plugins.add('blog', running(first.worker));
  await plugins.add('blog', running(second.worker, { before: first.worker }));
  first.crash('too late');
  await new Promise((resolve) => setImmediate(resolve));
  expect([plugins.has('blog'), crashes]).toEqual([true, []]);
  second.crash('out of memory');
  await new Promise((resolve) => setImmediate(resolve));
  expect([plugins.has('blog'), crashes]).toEqual([false, ['blog', 'out of memory']]);
});

test('an endpoint that only the previous worker has is answered by that, until it ends', async () => {
  const stopped: string[] = [];
  const plugins = new RunningPlugins(noCrash);
  const [before, now] = [
    newWorker('before', stopped, ['old', 'both']).worker,
    newWorker('now', stopped, ['both', 'new']).worker,
  ];
  const plugin = running(now, { before });
  await plugins.add('blog', plugin);
  const workerFor = (operationId: string): PluginWorker | undefined =>
    plugins.workerFor({
      plugin: 'blog',
      operationId,
      endpoint: endpointRoute(endpointOf(operationId)),
      params: {},
      query: '',
    } as never);
  expect(['old', 'both', 'new'].map(workerFor)).toEqual([before, now, now]);
  const over = new AbortController();
  over.abort();
  await plugins.endBefore('blog', plugin, over.signal);
  expect(stopped).toEqual(['before']);
  expect(workerFor('old')).toBe(now);
});
