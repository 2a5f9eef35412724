/**
 * The table of the chart's values in docs/chart.md, generated from values.yaml and its comments: `node
 * hack/helm/values-table.mjs` updates it. A row is a value with the comment above it; a map with a comment is a row
 * too, unless values inside it have comments.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMap, isScalar, parseDocument } from 'yaml';

const valuesFile = fileURLToPath(new URL('../../deploy/helm/svc/values.yaml', import.meta.url));
const page = fileURLToPath(new URL('../../docs/chart.md', import.meta.url));
const begin = '<!-- values: written by hack/helm/values-table.mjs -->\n<!-- prettier-ignore-start -->';
const end = '<!-- prettier-ignore-end -->\n<!-- end of values -->';

/** Each leaf of values.yaml: its path, default and comment (undefined if missing). A map without entries is a leaf. */
export function valuesOf(text = readFileSync(valuesFile, 'utf8')) {
  const rows = [];
  const walk = (map, path) => {
    for (const [index, { key, value }] of map.items.entries()) {
      const name = [...path, key.value].join('.');
      // The parser attaches a comment above the first entry of a map to the map.
      const comment = key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
      // An empty line separates the file's comment from that of the first value.
      const doc = comment
        ?.split(/\n\s*\n/)
        .at(-1)
        .split('\n')
        .map((line) => line.trim())
        .join(' ')
        .trim();
      const isDocumentedWhole = isMap(value) && value.flow === true;
      if (isMap(value) && value.items.length > 0 && !isDocumentedWhole && !isFreeMap(value)) {
        if (doc !== undefined) rows.push({ name, doc, isGroup: true });
        walk(value, [...path, key.value]);
      } else rows.push({ name, doc, value: isScalar(value) ? value.value : value.toJSON() });
    }
  };
  walk(parseDocument(text).contents, []);
  return rows;
}

/** A map whose entries have no comments is one value: `resources`, `parameters`. */
function isFreeMap(map) {
  return (
    map.commentBefore === undefined &&
    map.items.every(
      ({ key, value }) => key.commentBefore === undefined && !(isMap(value) && value.commentBefore !== undefined),
    )
  );
}

/** The table as Markdown. */
export function valuesTable() {
  const cell = (text) => text.replaceAll('|', '\\|');
  const rows = valuesOf().map(({ name, doc, value, isGroup }) =>
    isGroup
      ? `| **${name}** | | ${cell(doc)} |`
      : `| \`${name}\` | \`${cell(JSON.stringify(value))}\` | ${cell(doc ?? '')} |`,
  );
  return ['| value | default | |', '|---|---|---|', ...rows].join('\n');
}

/** The page with the current table. */
export function pageWithTable(text = readFileSync(page, 'utf8')) {
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`docs/chart.md lacks the markers of the table: ${begin} and ${end}`);
  return `${before}${begin}\n${valuesTable()}\n${end}${after}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, pageWithTable());
