import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isPersonalToken } from '#pkg/identity/index';
import { helm } from '../../../hack/helm/helm.mjs';
import { chartFolder, describeWithHelm } from './render-chart.ts';

const texts = [
  '',
  '0',
  '123456789',
  ...fc.sample(
    fc.string({ unit: fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code)), maxLength: 40 }),
    30,
  ),
];

/** helm's output for an entry of a list, `  - {{ ... }}`, with the templates of that file. */
async function render(template: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-crc32-'));
  try {
    mkdirSync(join(folder, 'templates'));
    writeFileSync(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: crc32\nversion: 1.0.0\n');
    writeFileSync(join(folder, 'values.yaml'), JSON.stringify({ texts }));
    copyFileSync(join(chartFolder, 'templates/_crc32.tpl'), join(folder, 'templates/_crc32.tpl'));
    writeFileSync(join(folder, 'templates/made.yaml'), `apiVersion: v1\nkind: Made\nmade:${template}`);
    return await helm(['template', folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describeWithHelm("the chart's tokens", () => {
  test('the CRC-32 of a template equals that of zlib', async () => {
    const made = await render('{{ range .Values.texts }}\n  - {{ include "svc.crc32" . }}{{ end }}\n');
    expect(made.match(/- \d+$/gm)).toEqual(texts.map((text) => `- ${crc32(text)}`));
  });

  test('the program accepts a token of the chart, and no two are the same', async () => {
    const made =
      (await render('{{ range until 50 }}\n  - {{ include "svc.newToken" $ }}{{ end }}\n')).match(/pat_\S+/g) ?? [];
    expect(new Set(made).size).toBe(50);
    expect(made.filter((token) => !isPersonalToken(token))).toEqual([]);
  });
});
