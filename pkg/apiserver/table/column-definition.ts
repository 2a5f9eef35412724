import type { JsonObject, JsonValue, PrinterColumn } from '#pkg/apimachinery/index';

/** One column of a Table. All fields are always there. Source: meta/v1 TableColumnDefinition. */
export type ColumnDefinition = {
  name: string;
  type: string;
  format: string;
  description: string;
  /** Above 0 only `kubectl get -o wide` shows it. */
  priority: number;
};

/** The columns of one version of a model in a Table. */
export interface TableColumns {
  definitions: readonly ColumnDefinition[];
  /** The cells of an object, one for each column. `now`: milliseconds since 1970. */
  cells: (object: JsonObject, now: number) => JsonValue[];
}

export function column(
  name: string,
  { type = 'string', format = '', description = '', priority = 0 }: Partial<Omit<ColumnDefinition, 'name'>> = {},
): ColumnDefinition {
  return { name, type, format, description, priority };
}

const nameDescription =
  'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names';
export const creationDescription =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';

/** The first column of nearly every table. */
export const nameColumn = column('Name', { format: 'name', description: nameDescription });

/** The column of a version without printer columns. */
export const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  description: creationDescription,
  jsonPath: '.metadata.creationTimestamp',
};
