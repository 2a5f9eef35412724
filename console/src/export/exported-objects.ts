import type { AnyObject, IndexTypes, JsonObject, Stored, WhereSelection } from '@svc/client';
import { toYaml } from '../editor/yaml-text.ts';
import { editableObject } from '../object/editable-text.ts';
import { apiVersionOf, resourceOf, type AnyResource, type ModelInfo } from '../server/model-info.ts';
import type { RowMeta } from '../server/read-table.ts';

export interface ExportFormat {
  format: 'yaml' | 'jsonl';
  /** Leave out what the server sets. */
  isStripped: boolean;
}

export interface FilteredList extends WhereSelection<IndexTypes> {
  namespace: string;
  sort?: readonly string[];
}

interface ReadOptions {
  isStripped: boolean;
  signal: AbortSignal;
}

type Chunks = AsyncGenerator<readonly Stored<AnyObject>[]>;

/** All objects of a list, as one snapshot. @throws StatusError */
export function filteredObjects(model: ModelInfo, { namespace, ...query }: FilteredList, options: ReadOptions): Chunks {
  return chunksOf(resourceOf(model, namespace), query, options);
}

/** The chosen objects, those of a namespace together; who is gone meanwhile is left out. @throws StatusError */
export async function* chosenObjects(model: ModelInfo, rows: readonly RowMeta[], options: ReadOptions): Chunks {
  const uids = new Set(rows.map(({ uid }) => uid));
  for (const namespace of new Set(rows.map((row) => row.namespace ?? ''))) {
    const names = rows.filter((row) => (row.namespace ?? '') === namespace).map(({ name }) => name);
    for (let at = 0; at < names.length; at += namesInRequest) {
      const where = { 'metadata.name': { in: names.slice(at, at + namesInRequest) } };
      for await (const objects of chunksOf(resourceOf(model, namespace), { where }, options))
        // One of the same name that came later is another object.
        yield objects.filter(({ metadata }) => uids.has(metadata.uid));
    }
  }
}

async function* chunksOf(
  resource: AnyResource,
  query: Omit<FilteredList, 'namespace'>,
  { isStripped, signal }: ReadOptions,
): Chunks {
  let next: string | undefined;
  do {
    const { items, metadata } = await resource.list({
      ...query,
      limit: chunkSize,
      omitManagedFields: isStripped,
      signal,
      ...(next === undefined ? {} : { continue: next }),
    });
    yield items;
    next = metadata.continue;
  } while (next !== undefined);
}

/** A URL has 64 KiB, and a name 253 bytes. */
const namesInRequest = 100;
const chunkSize = 500;

/** The text of one object in a file of many. */
export function exportedText(
  model: ModelInfo,
  object: Stored<AnyObject>,
  { format, isStripped }: ExportFormat,
): string {
  const content = isStripped ? editableObject(model, object) : (object as unknown as JsonObject);
  const whole: JsonObject = { apiVersion: apiVersionOf(model), kind: model.kind, ...content };
  return format === 'yaml' ? `---\n${toYaml(whole)}` : `${JSON.stringify(whole)}\n`;
}
