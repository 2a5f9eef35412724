import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Incident } from '../incident.ts';

/** What the page does first: nobody answers. */
async function assertNoAnswer(url: string): Promise<void> {
  const answers = await fetch(`${url}/livez`).then(
    () => true,
    () => false,
  );
  if (answers) throw new Error(`${url}/livez answers, although its process was killed`);
}

export const down: readonly Incident[] = [
  {
    alert: 'SvcDown',
    cause: 'gone',
    intent: 'One of two API servers is killed; it is started again.',
    open: async (site) => {
      await (await site.add('serve')).start();
      await (await site.add('apiserver', { name: 'second' })).start();
    },
    provoke: async ({ members: [, second] }) => {
      await second!.stop('SIGKILL');
      return () => second!.start();
    },
    look: ({ members: [, second] }) => assertNoAnswer(second!.url),
  },
  {
    alert: 'SvcDown',
    cause: 'none',
    intent: 'The only process is killed; it is started again.',
    brings: ['SvcDown:gone', 'SvcControllersNotLed'],
    open: async (site) => (await site.add('serve')).start(),
    provoke: async ({ server }) => {
      await server.stop('SIGKILL');
      return () => server.start();
    },
    look: ({ server }) => assertNoAnswer(server.url),
  },
  {
    alert: 'SvcDown',
    cause: 'start',
    intent:
      'A new process ends at its start, because its key is not there; it gets the key, as the end of its log says.',
    open: async (site) => (await site.add('serve')).start(),
    provoke: async (site) => {
      const key = join(site.folder, 'key-of-the-second');
      const second = await site.add('apiserver', { name: 'second', args: [`--svc.security.key-file=${key}`] });
      second.launch();
      await second.process.exited;
      await site.scrape();
      return async () => {
        await copyFile(join(site.dataDir, 'secret-key'), key);
        await second.start();
      };
    },
    look: async ({ members: [, second] }) => {
      await assertNoAnswer(second!.url);
      const lastLine = second!.process.log().trim().split('\n').at(-1)!;
      if (second!.process.exitStatus === 0 || !lastLine.includes('key-of-the-second'))
        throw new Error(`exit code ${second!.process.exitStatus}, and the log ends with "${lastLine}"`);
    },
  },
];
