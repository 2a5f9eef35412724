import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasBrowser } from '../../../../pkg/access/pages/pagetest/browser.ts';
import type { Outcome } from '../../harness/run/run-main.ts';
import { allowedInServer, ChurnedServer } from '../churned-server.ts';
import { measureGrowth } from '../measure-growth.ts';
import { boardPlugin, versionFile } from './board-plugin.ts';
import { OpenPages } from './open-pages.ts';

const plugin = 'board';
/** Every so many rounds the files of the pages change, so that frames are replaced. */
const changeEvery = 10;
/** Of all pages together, and of the worker that they share. Bytes of each round, and of what is not collected yet. */
const allowedHeap = { each: 512, once: 2_000_000 };

/**
 * Starts and stops a plugin repeatedly while a browser shows its pages in each place. They must say that it has stopped,
 * come back with it, and keep what was typed; neither the browser nor the server may grow.
 */
export async function runPages({ rounds, parent }: { rounds: number; parent: string }): Promise<Outcome> {
  if (!hasBrowser) {
    process.stderr.write('WARNING: there is no Chromium, so no pages are open while plugins start and stop.\n');
    return { passed: 0, failures: [] };
  }
  const folder = await mkdtemp(join(parent, 'svc-churn-pages-'));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
  const write = async (file: string, text: string): Promise<void> => {
    const path = join(folder, 'plugins', plugin, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  };
  for (const [file, text] of Object.entries(boardPlugin)) await write(file, text);
  const server = await ChurnedServer.start(folder, ['--svc.plugins.interval=50ms']);
  let pages: OpenPages | undefined;
  try {
    await server.turn(plugin, true);
    pages = await OpenPages.open(server.url, await server.adminPassword());
    const open = pages;
    const lost = new Set<string>();
    const grown = await measureGrowth({
      rounds,
      round: async (number) => {
        await server.turn(plugin, false);
        await open.untilStopped();
        if (number % changeEvery === 0) await write(versionFile, String(number));
        await server.turn(plugin, true);
        await open.untilStarted();
      },
      measure: async () => {
        for (const path of await open.lostDrafts()) lost.add(path);
        const browser = await open.counts();
        const { heapBytes: serverHeapBytes, ...inServer } = await server.life();
        return { ...browser, serverHeapBytes, ...inServer };
      },
      allowed: { ...allowedInBrowser(rounds), ...allowedIn(rounds) },
    });
    const failures = [
      ...grown,
      ...Array.from(lost, (path) => `${path} has lost what was typed`),
      ...pages.complaints.slice(0, 10),
    ];
    for (const failure of failures) process.stdout.write(`${failure}\n`);
    return { passed: failures.length === 0 ? 1 : 0, failures: failures.map((each) => `churn of pages: ${each}`) };
  } finally {
    await pages?.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function allowedInBrowser(rounds: number): Record<string, number> {
  const heap = allowedHeap.once + rounds * allowedHeap.each;
  return {
    heapBytes: heap,
    workerHeapBytes: heap,
    nodes: 100,
    listeners: 20,
    frames: 0,
    ports: 4,
    targets: 0,
    processes: 1,
  };
}

function allowedIn(rounds: number): Record<string, number> {
  const { heapBytes: serverHeapBytes = 0, ...others } = allowedInServer(rounds);
  return { serverHeapBytes, ...others };
}
