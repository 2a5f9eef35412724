import { deflateRawSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { readZipEntry } from './read-zip-entry.mjs';

/** An archive of these files; every second one is deflated. */
function zipOf(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  for (const [index, [name, text]] of Object.entries(files).entries()) {
    const method = index % 2 === 0 ? 0 : 8;
    const packed = method === 0 ? Buffer.from(text) : deflateRawSync(text);
    const at = parts.reduce((sum, { length }) => sum + length, 0);
    const header = Buffer.alloc(30);
    header.writeUInt32LE(0x04034b50);
    header.writeUInt16LE(name.length, 26);
    header.writeUInt16LE(4, 28);
    parts.push(header, Buffer.from(name), Buffer.from('more'), packed);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(at, 42);
    directory.push(entry, Buffer.from(name));
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(
    parts.reduce((sum, { length }) => sum + length, 0),
    16,
  );
  return Buffer.concat([...parts, ...directory, end]);
}

test('a file of an archive is read, stored or deflated', () => {
  const zip = zipOf({ 'a/helm': 'one', helm: 'two '.repeat(100) });
  expect(readZipEntry(zip, 'a/helm').toString()).toBe('one');
  expect(readZipEntry(zip, 'helm').toString()).toBe('two '.repeat(100));
  expect(() => readZipEntry(zip, 'kubectl')).toThrow(/has no kubectl/);
  expect(() => readZipEntry(Buffer.from('no archive'), 'helm')).toThrow(/not a zip archive/);
});
