/**
 * Executes the documentation: every ```sh block of README.md and docs/, each file against its own server. `node
 * hack/verify-docs.mjs [--whole] [file ...]`; the convention is in hack/docs/markdown-blocks.mjs. Needs `npm run build`
 * first. It occupies the ports of the reader's own server. http://127.0.0.1:8090 (or ws; or 8091; or https and 8443 or
 * 8444) in a page means the test's server; blocks also get its address as $BASE. `--whole` also executes the pages that
 * must work wherever controllers run with API and controllers in separate processes. Three pages are executed at a
 * time.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { holdPorts } from './docs/hold-ports.mjs';
import { shellBlocks } from './docs/markdown-blocks.mjs';
import { matchesOutput } from './docs/matches-output.mjs';
import { runBlocks } from './docs/run-blocks.mjs';
import { startServer, withoutOptions } from './docs/start-server.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values: options, positionals } = parseArgs({ options: { whole: { type: 'boolean' } }, allowPositionals: true });
const named = positionals.map((file) => resolve(file));
const files =
  named.length > 0
    ? named
    : [join(root, 'README.md'), ...listMarkdown(join(root, 'docs'))].filter((file) => existsSync(file));

/** The ports of `npm start`. */
const readersPorts = [8090, 8091, 8443, 8444];

/** Pages that `--whole` also executes with separate processes. */
const inBothWays = new Set(['docs/plugins.md']);

const pages = files.flatMap((file) => {
  const name = relative(root, file);
  const blocks = shellBlocks(readFileSync(file, 'utf8'));
  if (blocks.length === 0) return [];
  return (options.whole && inBothWays.has(name) ? [false, true] : [false]).map((inParts) => ({
    name,
    blocks,
    inParts,
  }));
});

let failures = 0;
const release = await holdPorts(readersPorts);
// The longest first, so that three at a time end together.
const longest = new Set(['docs/plugins.md', 'docs/runbook.md', 'docs/backup.md']);
const waiting = pages.toSorted((a, b) => longest.has(b.name) - longest.has(a.name)).values();
await Promise.all([verifyPages(waiting), verifyPages(waiting), verifyPages(waiting)]);
await release();
process.exitCode = failures === 0 ? 0 : 1;

/** Takes the next page that is not taken, until none is left. */
async function verifyPages(untaken) {
  for (const { name, blocks, inParts } of untaken) {
    // Not thrown, because that would leave the other page's server running.
    const problem = await problemOf(blocks, inParts).catch((error) => ` ${error.stack}`);
    if (problem !== undefined) failures += 1;
    const how = inParts ? ' in separate processes' : '';
    process.stdout.write(
      problem === undefined
        ? `${name}: ${blocks.length} blocks ran${how}\n`
        : `${name}:${problem}\n${inParts ? '(in separate processes)\n' : ''}`,
    );
  }
}

function listMarkdown(folder) {
  if (!existsSync(folder)) return [];
  const paths = readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
  return paths.filter((path) => path.endsWith('.md')).toSorted();
}

/** Undefined if every block ran and printed the expected output. */
async function problemOf(blocks, inParts) {
  const server = await startServer(root, { inParts });
  try {
    const addresses = {
      'http:8090': server.url,
      'ws:8090': server.url.replace('http', 'ws'),
      'http:8091': server.accessUrl,
      'https:8443': server.tlsUrl,
      'https:8444': server.accessTlsUrl,
    };
    const ours = (url, scheme, port) => addresses[`${scheme}:${port}`] ?? url;
    const scripts = blocks.map(({ script }) => ({
      script: script.replaceAll(/(https?|ws):\/\/(?:127\.0\.0\.1|localhost):(\d+)/g, ours),
    }));
    const { code, outputs, stderr } = await runBlocks(scripts, {
      cwd: server.folder,
      env: { ...withoutOptions(process.env), SVC_LOG_SLOW_REQUEST: '1h', BASE: server.url },
    });
    const wrong = blocks.findIndex(
      ({ expected }, index) =>
        expected !== undefined && outputs[index] !== undefined && !matchesOutput(outputs[index], expected),
    );
    if (code !== 0)
      return `${blocks[Math.max(0, outputs.length - 1)].line}: the block failed (${code})\n${outputs.at(-1) ?? ''}${stderr}`;
    if (wrong !== -1) return `${blocks[wrong].line}: the block printed something else:\n${outputs[wrong]}`;
    return undefined;
  } finally {
    await server.stop();
  }
}
