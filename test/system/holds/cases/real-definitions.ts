import { fileURLToPath } from 'node:url';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { HoldCase } from '../hold-case.ts';
import { definitionsPath } from '../sample-model.ts';

const folders = ['gateway-api', 'cert-manager'].map((project) =>
  fileURLToPath(new URL(`../../../../../shared/data/${project}/crds`, import.meta.url)),
);
const realLimitMs = 50;

/** Definitions of public projects, in both forms: created, changed, and rewritten unchanged. */
export function realDefinitionCases(): HoldCase[] {
  const files = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`));
  if (files.length === 0) process.stderr.write(`warning: no real definitions in ${folders.join(', ')}\n`);
  return files.map((file) => {
    const text = readFileSync(file, 'utf8');
    const definition = parse(text) as { metadata: { name: string } };
    const path = `${definitionsPath}/${definition.metadata.name}`;
    const changed = JSON.stringify({ ...definition, metadata: { ...definition.metadata, labels: { changed: 'yes' } } });
    return {
      name: `real definition: ${definition.metadata.name}`,
      limitMs: realLimitMs,
      requests: (round) =>
        round === 0
          ? [
              { method: 'POST', path: definitionsPath, body: text, headers: { 'Content-Type': 'application/yaml' } },
              { method: 'GET', path, headers: { Accept: 'application/yaml' } },
              { method: 'PUT', path, body: changed },
            ]
          : [{ method: 'PUT', path, body: JSON.stringify(definition) }],
    };
  });
}
