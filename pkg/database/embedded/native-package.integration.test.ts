import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyNativePackage, makeLibraryLinks } from './native-package.ts';

let folder: string;
let native: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-native-'));
  native = join(folder, 'package/native');
  for (const name of ['bin', 'lib', 'share']) mkdirSync(join(native, name), { recursive: true });
  writeFileSync(join(native, 'lib/libpq.so.5.18'), 'library');
  writeFileSync(join(native, 'bin/postgres'), '#!/bin/sh\necho "postgres (PostgreSQL) 18.4"\n', { mode: 0o700 });
  const target = 'native/lib/libpq.so.5';
  writeFileSync(join(native, 'pg-symlinks.json'), JSON.stringify([{ source: 'native/lib/libpq.so.5.18', target }]));
  execFileSync('chmod', ['-R', 'go=', native]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('links are created once, by any number of concurrent processes, and stay valid when the folder moves', async () => {
  await Promise.all([1, 2, 3, 4].map(() => makeLibraryLinks(native)));
  await makeLibraryLinks(native);
  expect(readlinkSync(join(native, 'lib/libpq.so.5'))).toBe('libpq.so.5.18');
});

test('a copy is readable by others although the package is not, is reused, and replaces a damaged or older one', async () => {
  const home = join(folder, 'home');
  mkdirSync(join(home, 'postgres-0123456789abcdef/native'), { recursive: true });
  mkdirSync(join(home, 'postgres-notes'));
  chmodSync(folder, 0o755);
  const copy = await copyNativePackage(native, home);
  const stranger = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  expect(execFileSync(join(copy, 'bin/postgres'), { encoding: 'utf8', cwd: '/', ...stranger })).toContain('18.4');
  expect(readlinkSync(join(copy, 'lib/libpq.so.5'))).toBe('libpq.so.5.18');
  expect(readdirSync(home)).toHaveLength(2);
  expect(existsSync(join(home, 'postgres-notes'))).toBe(true);

  expect(await copyNativePackage(native, home)).toBe(copy);
  truncateSync(join(copy, 'lib/libpq.so.5.18'));
  expect(await copyNativePackage(native, home)).toBe(copy);
  expect(execFileSync('cat', [join(copy, 'lib/libpq.so.5.18')], { encoding: 'utf8' })).toBe('library');
});

test('a copy that other users can change is refused', async () => {
  const home = join(folder, 'open-home');
  mkdirSync(home);
  const copy = await copyNativePackage(native, home);
  chmodSync(join(copy, '..'), 0o777);
  await expect(copyNativePackage(native, home)).rejects.toThrow('can be changed by other users');
});
