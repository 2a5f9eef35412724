import { execFile } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { KeyFile } from './key-file.ts';
import { KeyRing } from './key-ring.ts';
import { SecretKeyError } from './secret-error.ts';
import { SecretKey } from './secret-key.ts';

let folder: string;
let file: KeyFile;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-key-file-'));
  file = new KeyFile(join(folder, 'data', 'secret-key'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const idsIn = (each: KeyFile): string[] | undefined => each.read()?.map(({ id }) => id);
const keys = [SecretKey.generate(), SecretKey.generate()];

function write(text: string, mode = 0o600): void {
  mkdirSync(join(folder, 'data'), { recursive: true });
  writeFileSync(file.path, text);
  chmodSync(file.path, mode);
}

describe('the file that a first start creates', () => {
  test('holds one key, is readable by this user only, and is created once', () => {
    expect([file.read(), file.version()]).toEqual([undefined, undefined]);
    file.create();
    const [id] = idsIn(file)!;
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, 'data'))).toEqual(['secret-key']);
    file.create();
    expect(idsIn(file)).toEqual([id]);
  });

  test('is one file, also with many concurrent processes', async () => {
    const source = fileURLToPath(new URL('key-file.ts', import.meta.url));
    // All processes wait for the same time, to start at once.
    const at = Date.now() + 2_000;
    const script = `const { KeyFile } = await import(${JSON.stringify(source)});
      const file = new KeyFile(${JSON.stringify(file.path)});
      while (Date.now() < ${at});
      file.create();
      process.stdout.write(file.read().map(({ id }) => id).join());`;
    const run = async (): Promise<string> =>
      (
        await promisify(execFile)(
          process.execPath,
          ['--conditions=source', '--import', 'tsx', '--input-type=module', '-e', script],
          { cwd: fileURLToPath(new URL('../../..', import.meta.url)) },
        )
      ).stdout;
    const seen = await Promise.all(Array.from({ length: 4 }, run));
    expect(new Set(seen)).toEqual(new Set([idsIn(file)!.join()]));
    expect(readdirSync(join(folder, 'data'))).toEqual(['secret-key']);
  });
});

test('a file is replaced atomically, keeps its mode, and leftovers of a killed process are removed', () => {
  file.create();
  chmodSync(file.path, 0o640);
  const draft = join(folder, 'data', 'secret-key.01234567-89ab-cdef-0123-456789abcdef');
  writeFileSync(draft, keys[0]!.reveal());
  writeFileSync(join(folder, 'data', 'secret-key.bak'), '');
  file.replace(keys);
  expect(idsIn(file)).toEqual(keys.map(({ id }) => id));
  expect(statSync(file.path).mode & 0o777).toBe(0o640);
  expect(readdirSync(join(folder, 'data'))).toEqual(['secret-key', 'secret-key.bak']);
});

test('if a file cannot be replaced, the reason is reported, and it stays unchanged', () => {
  write(keys.map((key) => key.reveal()).join('\n'), 0o640);
  expect(file.obstacle(keys)).toBeUndefined();
  expect([idsIn(file), statSync(file.path).mode & 0o777]).toEqual([keys.map(({ id }) => id), 0o640]);
  // The name leaves no room for that of a temporary file: fails for root too, as on a read-only mount.
  const fixed = new KeyFile(join(folder, 'data', 'k'.repeat(240)));
  writeFileSync(fixed.path, keys[0]!.reveal(), { mode: 0o600 });
  expect(fixed.obstacle(fixed.read()!)).toBe('ENAMETOOLONG');
  expect([idsIn(fixed), readdirSync(join(folder, 'data')).length]).toEqual([[keys[0]!.id], 2]);
});

describe('an unusable file is refused, and its content is not shown', () => {
  const key = keys[0]!.reveal();
  const cases: { reason: string; text: string; mode?: number; sentence: RegExp | undefined }[] = [
    { reason: 'blank lines and line ends of Windows are fine', text: `\r\n${key}\r\n\n`, sentence: undefined },
    { reason: 'its group may read it', text: key, mode: 0o440, sentence: undefined },
    { reason: 'empty', text: '\n', sentence: /holds no key/ },
    { reason: 'a line that is not a key', text: `${key}\n${key}0\n`, sentence: /^Line 2 of .*secret-key is not a key/ },
    {
      reason: 'everybody may read it',
      text: key,
      mode: 0o644,
      sentence: /is open to others \(mode 0644\); make it 0600/,
    },
    { reason: 'its group may write it', text: key, mode: 0o660, sentence: /is open to others \(mode 0660\)/ },
    { reason: 'too large', text: `${key}\n`.repeat(1100), sentence: /no file of keys/ },
  ];
  test.each(cases)('$reason', ({ text, mode = 0o600, sentence }) => {
    write(text, mode);
    if (sentence === undefined) return expect(idsIn(file)).toEqual([keys[0]!.id]);
    expect(() => file.read()).toThrow(SecretKeyError);
    expect(() => file.read()).toThrow(sentence);
    return expect(() => file.read()).not.toThrow(key);
  });

  test('a folder, and a file under a file', () => {
    mkdirSync(file.path, { recursive: true });
    expect(() => file.read()).toThrow(/no file of keys|cannot be read/);
    writeFileSync(join(folder, 'x'), '');
    expect(() => new KeyFile(join(folder, 'x', 'y')).read()).toThrow('cannot be read (ENOTDIR)');
  });
});

describe('a ring of a file', () => {
  test('follows changes of the file, also through a link, and keeps its keys while the file is unreadable', () => {
    write(`${keys[0]!.reveal()}\n`);
    const link = join(folder, 'mounted');
    symlinkSync(file.path, link);
    const mounted = new KeyFile(link);
    const ring = new KeyRing(mounted.read()!, mounted);
    expect(ring.refresh()).toBe(false);
    mounted.replace(keys);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(ring.find(keys[1]!.id)).toBeUndefined();
    expect(ring.refresh()).toBe(true);
    expect(ring.keys.map(({ id }) => id)).toEqual(keys.map(({ id }) => id));
    expect(ring.refresh()).toBe(false);
    for (const spoil of [() => write('nonsense'), () => chmodSync(file.path, 0o666), () => rmSync(file.path)]) {
      spoil();
      expect(ring.refresh()).toBe(false);
      expect(ring.primary.id).toBe(keys[0]!.id);
    }
    write(keys[1]!.reveal());
    expect(ring.refresh()).toBe(true);
    expect(ring.primary.id).toBe(keys[1]!.id);
  });

  test('reads a refused file again, and logs the reason once', () => {
    write(keys[0]!.reveal());
    const warnings: unknown[] = [];
    const warn = (details: object): unknown => warnings.push(details);
    const ring = new KeyRing(file.read()!, file, { info: warn, warn, error: warn });
    write(keys.map((key) => key.reveal()).join('\n'), 0o644);
    expect([ring.refresh(), ring.refresh(), ring.keys.length]).toEqual([false, false, 1]);
    chmodSync(file.path, 0o600);
    expect([ring.refresh(), ring.refresh(), ring.keys.length]).toEqual([true, false, 2]);
    expect(warnings).toEqual([{ reason: expect.stringMatching(/is open to others \(mode 0644\)/) }]);
  });

  test('cannot seal without a key, and can when the file exists', () => {
    const ring = new KeyRing([], file);
    expect(() => ring.primary).toThrow(SecretKeyError);
    file.create();
    expect([ring.isEmpty, ring.refresh(), ring.isEmpty]).toEqual([true, true, false]);
    expect(ring.primary.id).toBe(file.read()![0]!.id);
  });
});

test('a file has a key in each line', () => {
  file.create();
  file.replace(keys);
  expect(readFileSync(file.path, 'utf8')).toBe(keys.map((key) => `${key.reveal()}\n`).join(''));
});
