import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { describe, expect, test } from '@jest/globals';

interface Block {
  line: number;
  script: string;
  expected?: { text: string; isJson: boolean };
}
interface Ran {
  code: number | null;
  outputs: string[];
  stderr: string;
}
const { shellBlocks } = await load<{ shellBlocks: (markdown: string) => Block[] }>('markdown-blocks.mjs');
const { matchesOutput } = await load<{
  matchesOutput: (actual: string, expected: { text: string; isJson: boolean }) => boolean;
}>('matches-output.mjs');
const { runBlocks } = await load<{
  runBlocks: (blocks: { script: string }[], options: { cwd: string; env: object; timeoutMs?: number }) => Promise<Ran>;
}>('run-blocks.mjs');
const { holdPorts } = await load<{ holdPorts: (ports: number[]) => Promise<() => Promise<void>> }>('hold-ports.mjs');

async function load<T>(name: string): Promise<T> {
  return (await import(new URL(name, import.meta.url).href)) as T;
}

const page = `# Page

\`\`\`sh
echo one
\`\`\`

\`\`\`text
one
\`\`\`

\`\`\`console
$ shown only
\`\`\`
<!-- not run: needs a cluster -->
\`\`\`sh
kubectl apply
\`\`\`

1. In a list:
   \`\`\`sh
   echo two
   \`\`\`
   which prints
   \`\`\`json
   { "not": "expected" }
   \`\`\`
`;

test('blocks are found with their expected output', () => {
  expect(shellBlocks(page)).toEqual([
    { line: 4, script: 'echo one\n', expected: { text: 'one\n', isJson: false } },
    { line: 21, script: 'echo two\n' },
  ]);
});

test('an unclosed fence is an error', () => {
  expect(() => shellBlocks('```sh\necho')).toThrow(/line 1 is never closed/);
});

describe('output', () => {
  const cases: { reason: string; actual: string; text: string; isJson?: boolean; matches: boolean }[] = [
    { reason: 'the same', actual: 'a\nb\n', text: 'a\nb', matches: true },
    { reason: 'another', actual: 'a', text: 'b', matches: false },
    { reason: 'more than expected', actual: 'a\nb', text: 'a', matches: false },
    { reason: 'anything in between', actual: 'a 1 b 2 c', text: 'a ... b ... c', matches: true },
    { reason: 'anything in between, in order', actual: 'a c b', text: 'a...b...c', matches: false },
    { reason: 'overlapping ends', actual: 'aba', text: 'ab...ba', matches: false },
    { reason: 'anything at the end', actual: 'a\nb\nc', text: 'a\n...', matches: true },
    {
      reason: 'JSON in another layout',
      actual: '{"a":1,"b":[2]}',
      text: '{ "a": 1,\n  "b": [ 2 ] }',
      isJson: true,
      matches: true,
    },
    {
      reason: 'JSON with a wildcard',
      actual: '{"uid":"x-1","b":2}',
      text: '{ "uid": "...", "b": 2 }',
      isJson: true,
      matches: true,
    },
    { reason: 'JSON with another value', actual: '{"a":1}', text: '{ "a": 2 }', isJson: true, matches: false },
  ];
  test.each(cases)('$reason', ({ actual, text, isJson = false, matches }) => {
    expect(matchesOutput(actual, { text, isJson })).toBe(matches);
  });
});

describe('a session', () => {
  const options = { cwd: '/', env: { PATH: process.env['PATH'] } };

  test('keeps variables between blocks, and ends background processes at its end', async () => {
    const { code, outputs } = await runBlocks(
      [{ script: 'name=mia; sleep 600 &' }, { script: 'echo "hello $name"' }],
      options,
    );
    expect({ code, outputs }).toEqual({ code: 0, outputs: ['', 'hello mia\n'] });
  });

  const failing: { reason: string; script: string }[] = [
    { reason: 'a command fails', script: 'false; echo on' },
    { reason: 'a command in a pipe fails', script: 'false | cat; echo on' },
    { reason: 'a variable is not set', script: 'echo "$NOBODY_SET_THIS"; echo on' },
  ];
  test.each(failing)('ends where $reason', async ({ script }) => {
    const { code, outputs } = await runBlocks([{ script: 'echo first' }, { script }, { script: 'echo last' }], options);
    expect(code).not.toBe(0);
    expect(outputs).toEqual(['first\n', '']);
  });

  test('has a timeout', async () => {
    expect((await runBlocks([{ script: 'sleep 600' }], { ...options, timeoutMs: 200 })).code).toBeNull();
  });
});

test('free ports are held, taken ones are skipped, and all are released', async () => {
  const listen = async (port: number): Promise<Server> => {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  const [taken, free] = [await listen(0), await listen(0)];
  const [takenPort, port] = [taken, free].map((server) => (server.address() as AddressInfo).port) as [number, number];
  await once(free.close(), 'close');
  const release = await holdPorts([takenPort, port]);
  await expect(listen(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await release();
  await once((await listen(port)).close(), 'close');
  expect(taken.listening).toBe(true);
  await once(taken.close(), 'close');
});
