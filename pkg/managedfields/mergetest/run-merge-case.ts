import {
  isJsonObject,
  isStatusError,
  type ApiObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '#pkg/apimachinery/index';
import { type FieldSet, forEachMember } from '../fieldpath/field-set.ts';
import { formatElements } from '../fieldpath/path-element.ts';
import { FieldManager } from '../manager/field-manager.ts';
import type { ManagedFieldsEntry } from '../manager/managed-fields-entry.ts';
import { newTypeSchema } from '../typed/type-schema.ts';

/** One write, or new types. Objects are given as their `spec`. */
export interface MergeStep {
  apply?: JsonValue;
  update?: JsonValue;
  by?: string;
  force?: boolean;
  /** Default v1. */
  version?: string;
  /** `metadata.managedFields` of the request. */
  requested?: JsonValue;
  /** The answer to the apply: a refusal with these conflicts, `MANAGER PATH`. */
  conflicts?: string[];
  /** The text of another refusal. */
  refused?: string;
  /** The types of `spec` from now on, by version; null: the version has none. */
  types?: Record<string, JsonSchema | null>;
}

export interface MergeCase {
  name: string;
  /** The type of `spec` in v1. Default: that of the file. */
  type?: JsonSchema;
  /** Paths in `spec` that the endpoint resets. Default: none. */
  reset?: string[][];
  steps: MergeStep[];
  /** The result of all steps. */
  spec?: JsonValue;
  /** What each manager owns then: `a` applied, `a (update)`; other versions than v1 are named: `a v2`. */
  owners: Record<string, string[]>;
}

export interface MergeResult {
  spec: JsonValue | undefined;
  owners: Record<string, string[]>;
  /** The refusals of the steps, in the form of the case. */
  refusals: (Pick<MergeStep, 'conflicts' | 'refused'> | undefined)[];
}

const group = 'example.com';

/** Runs the steps of a case one after the other. */
export function runMergeCase({ type, reset, steps }: MergeCase, typeOfFile: JsonSchema | undefined): MergeResult {
  let manager = newManager({ v1: type ?? typeOfFile ?? null }, reset);
  let live: ApiObject | undefined;
  const refusals: MergeResult['refusals'] = [];
  for (const [index, step] of steps.entries()) {
    if (step.types !== undefined) manager = newManager(step.types, reset);
    const { by = '', version = 'v1', force = false } = step;
    const now = index * 1000;
    const current = live === undefined ? undefined : { ...live, apiVersion: `${group}/${version}` };
    if (step.update !== undefined) {
      const updated = newObject(version, step.update, current);
      const managedFields = manager.update(current, updated, { manager: by, now, requested: step.requested });
      live = { ...updated, metadata: { ...updated.metadata, managedFields } };
    }
    if (step.apply === undefined) {
      refusals.push(undefined);
      continue;
    }
    try {
      live = manager.apply(current, newObject(version, step.apply), { manager: by, force, now }).object;
      refusals.push(undefined);
    } catch (error) {
      refusals.push(refusalOf(error));
    }
  }
  return {
    spec: live?.spec,
    owners: ownersOf(live?.metadata.managedFields as ManagedFieldsEntry[] | undefined),
    refusals,
  };
}

function newManager(types: Record<string, JsonSchema | null>, reset: readonly string[][] = []): FieldManager {
  return new FieldManager({
    resetFields: { '': { reset: reset.map((path) => ['spec', ...path]) } },
    versions: new Map(
      Object.entries(types).map(([version, spec]) => [
        `${group}/${version}`,
        newTypeSchema(spec === null ? undefined : { type: 'object', properties: { spec } }),
      ]),
    ),
  });
}

function newObject(version: string, spec: JsonValue, live?: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = live?.metadata ?? { name: 'o' };
  return { apiVersion: `${group}/${version}`, kind: 'Thing', metadata, spec };
}

function refusalOf(error: unknown): Pick<MergeStep, 'conflicts' | 'refused'> {
  if (!isStatusError(error)) throw error;
  if (error.code !== 409) return { refused: error.message };
  const causes = error.details?.causes ?? [];
  const conflicts = causes.map(
    ({ message, field = '' }) => `${message.replace('conflict with ', '')} ${shortPath(field)}`,
  );
  return { conflicts };
}

function ownersOf(entries: readonly ManagedFieldsEntry[] = []): Record<string, string[]> {
  return Object.fromEntries(
    entries.map(({ manager, operation, apiVersion, fieldsV1 }) => {
      const version = apiVersion === `${group}/v1` ? '' : ` ${apiVersion.slice(group.length + 1)}`;
      return [`${manager}${operation === 'Update' ? ' (update)' : ''}${version}`, pathsOf(fieldsV1)];
    }),
  );
}

function pathsOf(fields: JsonObject): string[] {
  const paths: string[] = [];
  forEachMember(fields as unknown as FieldSet, (path) => paths.push(shortPath(formatElements(path))));
  return paths;
}

/** Without `.spec`, which is a dot itself. */
function shortPath(path: string): string {
  return path === '.spec' ? '.' : path.replace(/^\.spec/, '');
}

/** A file of cases as it was read. */
export function readMergeCases(file: JsonValue): { type: JsonSchema | undefined; cases: MergeCase[] } {
  if (!isJsonObject(file)) throw new Error('a file of cases must be an object');
  return { type: file['type'] as JsonSchema | undefined, cases: file['cases'] as unknown as MergeCase[] };
}
