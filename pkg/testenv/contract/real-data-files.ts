import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Definition } from './models-definition.ts';

/**
 * The folder with files of other projects: next to the repository, or SVC_TEST_DATA. They are not part of the
 * repository.
 */
const folder = process.env['SVC_TEST_DATA'] ?? join(import.meta.dirname, '../../../../shared/data');

export const realDataPresent = existsSync(join(folder, 'gateway-api'));

export interface RealDocument {
  file: string;
  /** Unchanged, as in the file. */
  text: string;
  content: RealObject;
}

export interface RealObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec: Record<string, unknown>;
}

/** The definitions of a project, one in each file. */
export function realDefinitions(project: string): (RealDocument & { content: Definition })[] {
  return documentsIn(join(folder, project, 'crds')) as (RealDocument & { content: Definition })[];
}

/** All documents of a project's examples. */
export function realExamples(project: string): RealDocument[] {
  return documentsIn(join(folder, project, 'examples'));
}

function documentsIn(path: string): RealDocument[] {
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .toSorted()
    .flatMap((file) => {
      const text = readFileSync(join(path, file), 'utf8');
      return parseAllDocuments(text)
        .map((document) => ({
          file,
          text: text.slice(...(document.range.slice(0, 2) as [number, number])),
          content: document.toJS() as RealObject | null,
        }))
        .filter((document): document is RealDocument => document.content !== null);
    });
}
