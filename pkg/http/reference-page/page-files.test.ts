import { describe, expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { PageFiles } from './page-files.ts';
import { referencePageFiles } from './reference-page-files.ts';

describe('files of a page', () => {
  test('are built once, and compressed', async () => {
    const files = new PageFiles({ 'a.css': { text: 'b { color: red }', contentType: 'text/css' } });
    const file = await files.find('a.css')!;
    expect(file).toMatchObject({
      contentType: 'text/css',
      body: Buffer.from('b { color: red }'),
      hash: expect.stringMatching(/^[\da-f]{64}$/),
    });
    expect(gunzipSync(file.gzipped).toString()).toBe('b { color: red }');
    expect(files.find('a.css')).toBe(files.find('a.css'));
  });

  test.each(['b.css', '', '__proto__', 'constructor', '../page-files.ts'])('%p is not a page file', (name) => {
    expect(new PageFiles(referencePageFiles).find(name)).toBeUndefined();
  });

  test('an unreadable file is read again', async () => {
    let path = '/nowhere/at/all';
    const files = new PageFiles({ a: { path: () => path, contentType: 'text/plain' } });
    await expect(files.find('a')).rejects.toThrow('ENOENT');
    path = import.meta.filename;
    expect((await files.find('a')!).body.toString()).toContain('is tried anew');
  });

  test('the files of the package exist', async () => {
    const files = new PageFiles(referencePageFiles);
    for (const name of Object.keys(referencePageFiles))
      expect((await files.find(name)!).body.length).toBeGreaterThan(100);
  });
});
