import { isJsonObject, newBadRequest, type JsonObject } from '#pkg/apimachinery/index';
import type { TableColumns } from '../../table/column-definition.ts';
import { textParameter } from '../request/query-parameter.ts';
import { partialObject } from './partial-object.ts';

export const tableVersions = ['v1', 'v1beta1'] as const;
export type TableVersion = (typeof tableVersions)[number];

/** The media type of a Table of the newer version. */
export const tableMediaType = 'application/json;as=Table;v=v1;g=meta.k8s.io';

export const includeObjects = ['None', 'Metadata', 'Object'] as const;
/** What a row holds besides its cells. */
export type IncludeObject = (typeof includeObjects)[number];

/** The Table that a client asks for. Source: metav1.Table and TableOptions. */
export interface TableForm {
  version: TableVersion;
  includeObject: IncludeObject;
}

/** The query parameter `includeObject`; Metadata if it is absent. @throws StatusError 400 */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const text = textParameter(query, 'includeObject') ?? 'Metadata';
  const found = includeObjects.find((value) => value === text);
  if (found !== undefined) return found;
  throw newBadRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

export function tableTypeMeta({ version }: TableForm): { kind: string; apiVersion: string } {
  return { kind: 'Table', apiVersion: `meta.k8s.io/${version}` };
}

/** One object's JSON text as a row of a Table. */
export function rowText(form: TableForm, columns: TableColumns, text: string): string {
  return rowOf(form, columns, { object: JSON.parse(text) as JsonObject, text });
}

/**
 * One object's JSON text as a Table with one row. Without `withColumns` it has the form of a watch's later events: their
 * client knows the columns from the first.
 */
export function tableText(
  form: TableForm,
  columns: TableColumns,
  text: string,
  { withColumns = true }: { withColumns?: boolean } = {},
): string {
  const object = JSON.parse(text) as JsonObject;
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const { resourceVersion } = metadata;
  const head = JSON.stringify({
    ...tableTypeMeta(form),
    metadata: { resourceVersion },
    columnDefinitions: withColumns ? columns.definitions : null,
  });
  return `${head.slice(0, -1)},"rows":[${rowOf(form, columns, { object, text })}]}`;
}

function rowOf(
  { version, includeObject }: TableForm,
  columns: TableColumns,
  { object, text }: { object: JsonObject; text: string },
): string {
  const cells = JSON.stringify(columns.cells(object, Date.now()));
  const included = {
    None: () => 'null',
    Metadata: () => JSON.stringify(partialObject(object, version)),
    Object: () => text,
  }[includeObject]();
  return `{"cells":${cells},"object":${included}}`;
}
